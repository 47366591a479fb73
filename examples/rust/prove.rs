// Proves and verifies with libcuzk from Rust: prove ZKEY WTNS.
//
//     rustc prove.rs -L "$(pkg-config --variable=libdir libcuzk)" -l cuzk
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::ptr::{null, null_mut};

#[repr(C)]
struct Err {
    status: c_int,
    msg: [c_char; 640],
}

extern "C" {
    fn cuzk_prover_open(out: *mut *mut c_void, zkey: *const c_char, options: *const c_void, err: *mut Err) -> c_int;
    fn cuzk_prover_prove_file(
        prover: *const c_void,
        wtns: *const c_char,
        options: *const c_void,
        proof: *mut *mut c_char,
        signals: *mut *mut c_char,
        err: *mut Err,
    ) -> c_int;
    fn cuzk_prover_free(prover: *mut c_void);
    fn cuzk_verifier_from_prover(out: *mut *mut c_void, prover: *const c_void, err: *mut Err) -> c_int;
    fn cuzk_verifier_verify(
        verifier: *const c_void,
        signals: *const c_char,
        signals_len: usize,
        proof: *const c_char,
        proof_len: usize,
        err: *mut Err,
    ) -> c_int;
    fn cuzk_verifier_free(verifier: *mut c_void);
    fn cuzk_string_free(text: *mut c_char);
}

/// Runs a call that reports through an `Err`, and turns its status into a `Result`.
fn checked(call: impl FnOnce(*mut Err) -> c_int) -> Result<(), String> {
    let mut err = Err { status: 0, msg: [0; 640] };
    match call(&mut err) {
        0 => Ok(()),
        _ => Err(unsafe { CStr::from_ptr(err.msg.as_ptr()) }.to_string_lossy().into_owned()),
    }
}

/// A proving key, ready for any number of proofs from any number of threads.
struct Prover(*mut c_void);

unsafe impl Send for Prover {}
unsafe impl Sync for Prover {}

impl Drop for Prover {
    fn drop(&mut self) {
        unsafe { cuzk_prover_free(self.0) }
    }
}

unsafe fn take(text: *mut c_char) -> String {
    let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
    cuzk_string_free(text);
    copy
}

impl Prover {
    fn open(zkey: &str) -> Result<Prover, String> {
        let path = CString::new(zkey).map_err(|e| e.to_string())?;
        let mut handle = null_mut();
        checked(|err| unsafe { cuzk_prover_open(&mut handle, path.as_ptr(), null(), err) })?;
        Ok(Prover(handle))
    }

    /// Proof and public signals, as JSON.
    fn prove(&self, wtns: &str) -> Result<(String, String), String> {
        let path = CString::new(wtns).map_err(|e| e.to_string())?;
        let (mut proof, mut signals) = (null_mut(), null_mut());
        checked(|err| unsafe {
            cuzk_prover_prove_file(self.0, path.as_ptr(), null(), &mut proof, &mut signals, err)
        })?;
        Ok(unsafe { (take(proof), take(signals)) })
    }

    fn verify(&self, proof: &str, signals: &str) -> Result<(), String> {
        let mut verifier = null_mut();
        checked(|err| unsafe { cuzk_verifier_from_prover(&mut verifier, self.0, err) })?;
        let result = checked(|err| unsafe {
            cuzk_verifier_verify(
                verifier,
                signals.as_ptr().cast(),
                signals.len(),
                proof.as_ptr().cast(),
                proof.len(),
                err,
            )
        });
        unsafe { cuzk_verifier_free(verifier) };
        result
    }
}

fn main() -> Result<(), String> {
    let args: Vec<String> = std::env::args().collect();
    if args.len() != 3 {
        return Err("usage: prove ZKEY WTNS".into());
    }
    let prover = Prover::open(&args[1])?;
    let (proof, signals) = prover.prove(&args[2])?;
    prover.verify(&proof, &signals)?;
    println!("{proof}\n{signals}");
    Ok(())
}
