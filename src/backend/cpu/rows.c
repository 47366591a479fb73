#include "backend/cpu/rows.h"

extern const cuzk_rows_ops cuzk__rows_bn254_ops_asm, cuzk__rows_bn254_ops_portable;
extern const cuzk_rows_ops cuzk__rows_bls12_381_ops_asm, cuzk__rows_bls12_381_ops_portable;

const cuzk_rows_ops *cuzk__rows_ops(cuzk_curve_id curve, cuzk_cpu_impl impl) {
    bool portable = impl == CUZK_CPU_PORTABLE;
    if (curve == CUZK_BN254)
        return portable ? &cuzk__rows_bn254_ops_portable : &cuzk__rows_bn254_ops_asm;
    return portable ? &cuzk__rows_bls12_381_ops_portable : &cuzk__rows_bls12_381_ops_asm;
}
