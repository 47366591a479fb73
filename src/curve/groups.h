/* The four groups as inline functions: cuzk_{bn254,bls12_381}_{g1,g2}_*; see ec.inl.h. */
#ifndef CUZK_CURVE_GROUPS_H
#define CUZK_CURVE_GROUPS_H

#include "field/fields.h"

#define EC cuzk_bn254_g1
#define EC_F cuzk_bn254_fp
#define EC_B                                                                                       \
    { CUZK_BN254_G1_B }
#include "curve/ec.inl.h"

#define EC cuzk_bn254_g2
#define EC_F cuzk_bn254_fp2
#define EC_B CUZK_BN254_G2_B
#include "curve/ec.inl.h"

#define EC cuzk_bls12_381_g1
#define EC_F cuzk_bls12_381_fp
#define EC_B                                                                                       \
    { CUZK_BLS12_381_G1_B }
#include "curve/ec.inl.h"

#define EC cuzk_bls12_381_g2
#define EC_F cuzk_bls12_381_fp2
#define EC_B CUZK_BLS12_381_G2_B
#include "curve/ec.inl.h"

#endif
