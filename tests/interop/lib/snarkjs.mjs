// snarkjs as a library, with its worker threads ended at exit.
import * as snarkjs from 'snarkjs';

export { snarkjs };

export async function endWorkers() {
  for (const name of ['bn128', 'bls12381']) {
    await globalThis[`curve_${name}`]?.terminate();
  }
}

export const verifies = (vkey, publics, proof) => snarkjs.groth16.verify(vkey, publics, proof);
