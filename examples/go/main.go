// Proves and verifies with libcuzk from Go: prove ZKEY WTNS. Build with `go build`; pkg-config must
// find libcuzk.
package main

/*
#cgo pkg-config: libcuzk
#include <cuzk/cuzk.h>
#include <stdlib.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"unsafe"
)

func check(status C.cuzk_status, cerr *C.cuzk_err) error {
	if status == C.CUZK_STATUS_OK {
		return nil
	}
	return errors.New(C.GoString(&cerr.msg[0]))
}

// Prove returns the proof and the public signals as JSON, verified.
func Prove(zkey, wtns string) (proof, signals string, err error) {
	czkey, cwtns := C.CString(zkey), C.CString(wtns)
	defer C.free(unsafe.Pointer(czkey))
	defer C.free(unsafe.Pointer(cwtns))
	var cerr C.cuzk_err
	var prover *C.cuzk_prover
	if err = check(C.cuzk_prover_open(&prover, czkey, nil, &cerr), &cerr); err != nil {
		return
	}
	defer C.cuzk_prover_free(prover)
	var cproof, csignals *C.char
	status := C.cuzk_prover_prove_file(prover, cwtns, nil, &cproof, &csignals, &cerr)
	if err = check(status, &cerr); err != nil {
		return
	}
	defer C.cuzk_string_free(cproof)
	defer C.cuzk_string_free(csignals)
	proof, signals = C.GoString(cproof), C.GoString(csignals)
	var verifier *C.cuzk_verifier
	if err = check(C.cuzk_verifier_from_prover(&verifier, prover, &cerr), &cerr); err != nil {
		return
	}
	defer C.cuzk_verifier_free(verifier)
	status = C.cuzk_verifier_verify(verifier, csignals, C.size_t(len(signals)), cproof,
		C.size_t(len(proof)), &cerr)
	return proof, signals, check(status, &cerr)
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: prove ZKEY WTNS")
		os.Exit(2)
	}
	proof, signals, err := Prove(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(proof)
	fmt.Println(signals)
}
