// Proves and verifies with libcuzk from Node: node prove.mjs ZKEY WTNS. Needs `npm install koffi`
// and libcuzk.so where the loader finds it (or its path in CUZK_LIBRARY).
import koffi from 'koffi';

const [zkey, wtns] = process.argv.slice(2);
if (!wtns) {
  console.error('usage: node prove.mjs ZKEY WTNS');
  process.exit(2);
}

const lib = koffi.load(process.env.CUZK_LIBRARY ?? 'libcuzk.so.0');
koffi.opaque('cuzk_prover');
koffi.opaque('cuzk_verifier');
koffi.struct('cuzk_err', { status: 'int', msg: koffi.array('char', 640, 'String') });
// A text that the library allocated, turned into a string and freed.
const freeText = lib.func('void cuzk_string_free(void *text)');
koffi.disposable('cuzk_text', 'str', freeText);

const open = lib.func(
  'int cuzk_prover_open(_Out_ cuzk_prover **out, const char *zkey, void *options, _Out_ cuzk_err *err)',
);
const prove = lib.func(
  'int cuzk_prover_prove_file(cuzk_prover *prover, const char *wtns, void *options, ' +
    '_Out_ cuzk_text *proof, _Out_ cuzk_text *signals, _Out_ cuzk_err *err)',
);
const verifierOf = lib.func(
  'int cuzk_verifier_from_prover(_Out_ cuzk_verifier **out, cuzk_prover *prover, _Out_ cuzk_err *err)',
);
const verify = lib.func(
  'int cuzk_verifier_verify(cuzk_verifier *verifier, const char *signals, size_t signals_len, ' +
    'const char *proof, size_t proof_len, _Out_ cuzk_err *err)',
);
const freeProver = lib.func('void cuzk_prover_free(cuzk_prover *prover)');
const freeVerifier = lib.func('void cuzk_verifier_free(cuzk_verifier *verifier)');

function check(status, err) {
  if (status !== 0) throw new Error(err.msg);
}

const err = {};
const prover = [null];
check(open(prover, zkey, null, err), err);
const [proof, signals] = [[null], [null]];
// prove.async(…, callback) does the same on a thread of its own.
check(prove(prover[0], wtns, null, proof, signals, err), err);
const verifier = [null];
check(verifierOf(verifier, prover[0], err), err);
const [signalsLength, proofLength] = [signals[0], proof[0]].map((text) => Buffer.byteLength(text));
check(verify(verifier[0], signals[0], signalsLength, proof[0], proofLength, err), err);
console.log(proof[0]);
console.log(signals[0]);
freeVerifier(verifier[0]);
freeProver(prover[0]);
