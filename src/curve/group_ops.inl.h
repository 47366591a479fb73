/* The functions behind one cuzk_group_ops table: include-template over a group of groups.h.
 *
 * Parameters (undefined again at the end):
 *   GO              prefix of every generated name, e.g. bn254_g1
 *   GO_EC           prefix of the group, e.g. cuzk_bn254_g1
 *   GO_F            prefix of its field, e.g. cuzk_bn254_fp
 *   GO_GENERATOR    brace list of the generator
 *
 * Generates static functions GO_is_infinity … GO_on_curve with the signatures of
 * cuzk_group_ops, the constant GO_generator, and for the subgroup tests GO_load, GO_mul_u64 and
 * GO_xyzz_eq. What the curve has to add is bool GO_in_subgroup(const void *). */

#define GO_CAT2(a, b) a##_##b
#define GO_CAT(a, b) GO_CAT2(a, b)
#define GO_(name) GO_CAT(GO, name)
#define EC_(name) GO_CAT(GO_EC, name)
#define F_(name) GO_CAT(GO_F, name)

static const EC_(affine_t) GO_(generator) = GO_GENERATOR;

static inline void GO_(load)(EC_(affine_t) * r, const void *a) {
    memcpy(r, a, sizeof *r);
}
static inline void GO_(store)(void *r, const EC_(affine_t) * a) {
    memcpy(r, a, sizeof *a);
}

static bool GO_(is_infinity)(const void *a) {
    EC_(affine_t) p;
    GO_(load)(&p, a);
    return EC_(affine_is_infinity)(&p);
}

static bool GO_(eq)(const void *a, const void *b) {
    return memcmp(a, b, sizeof(EC_(affine_t))) == 0;
}

static void GO_(add)(void *r, const void *a, const void *b) {
    EC_(affine_t) p, q;
    EC_(xyzz_t) s;
    GO_(load)(&p, a);
    GO_(load)(&q, b);
    EC_(xyzz_from_affine)(&s, &p);
    EC_(xyzz_add_affine)(&s, &s, &q);
    EC_(xyzz_to_affine)(&p, &s);
    GO_(store)(r, &p);
}

static void GO_(neg)(void *r, const void *a) {
    EC_(affine_t) p;
    GO_(load)(&p, a);
    EC_(affine_neg)(&p, &p);
    GO_(store)(r, &p);
}

/* The digits of k in width-5 non-adjacent form, least significant first: each 0 or odd with
 * |d| < 16. Returns how many there are; k < 2^256 gives at most 257. */
static int GO_(wnaf)(int8_t digit[257], const cuzk_u256 *k) {
    uint64_t v[5] = {k->l[0], k->l[1], k->l[2], k->l[3], 0};
    int n = 0;
    while (v[0] | v[1] | v[2] | v[3] | v[4]) {
        int d = 0;
        if (v[0] & 1) {
            d = (int)(v[0] & 31);
            if (d >= 16) d -= 32;
            /* v -= d; the low bits cancel, so only a negative digit carries */
            uint64_t carry = d < 0 ? (uint64_t)-d : 0;
            if (d > 0) v[0] -= (uint64_t)d;
            for (int i = 0; i < 5 && carry; i++)
                carry = cuzk_addc(&v[i], v[i], carry, 0);
        }
        digit[n++] = (int8_t)d;
        for (int i = 0; i < 4; i++)
            v[i] = v[i] >> 1 | v[i + 1] << 63;
        v[4] >>= 1;
    }
    return n;
}

/* r = k * a by width-5 non-adjacent form: a doubling a bit, an addition every six bits. */
static void GO_(mul)(void *r, const void *a, const cuzk_u256 *k) {
    EC_(affine_t) p;
    EC_(xyzz_t) odd[8], twice, acc, t;
    int8_t digit[257];
    int n = GO_(wnaf)(digit, k);
    GO_(load)(&p, a);
    EC_(xyzz_from_affine)(&odd[0], &p);
    EC_(xyzz_dbl)(&twice, &odd[0]);
    for (int i = 1; i < 8; i++)
        EC_(xyzz_add)(&odd[i], &odd[i - 1], &twice);
    EC_(xyzz_set_infinity)(&acc);
    for (int i = n - 1; i >= 0; i--) {
        EC_(xyzz_dbl)(&acc, &acc);
        if (digit[i] > 0) {
            EC_(xyzz_add)(&acc, &acc, &odd[digit[i] / 2]);
        } else if (digit[i] < 0) {
            EC_(xyzz_neg)(&t, &odd[-digit[i] / 2]);
            EC_(xyzz_add)(&acc, &acc, &t);
        }
    }
    EC_(xyzz_to_affine)(&p, &acc);
    GO_(store)(r, &p);
}

/* r = k * a, left to right: for the sparse constants of subgroup tests. */
static inline void GO_(mul_u64)(EC_(xyzz_t) * r, const EC_(affine_t) * a, uint64_t k) {
    EC_(xyzz_set_infinity)(r);
    for (int i = 63 - __builtin_clzll(k | 1); i >= 0; i--) {
        EC_(xyzz_dbl)(r, r);
        if (k >> i & 1) EC_(xyzz_add_affine)(r, r, a);
    }
}

static inline bool GO_(xyzz_eq)(const EC_(xyzz_t) * a, const EC_(xyzz_t) * b) {
    EC_(xyzz_t) d;
    EC_(xyzz_neg)(&d, b);
    EC_(xyzz_add)(&d, &d, a);
    return EC_(xyzz_is_infinity)(&d);
}

static bool GO_(is_canonical)(const void *a) {
    EC_(affine_t) p;
    GO_(load)(&p, a);
    return F_(is_canonical)(&p.x) && F_(is_canonical)(&p.y);
}

static bool GO_(on_curve)(const void *a) {
    EC_(affine_t) p;
    GO_(load)(&p, a);
    return F_(is_canonical)(&p.x) && F_(is_canonical)(&p.y) && EC_(affine_on_curve)(&p);
}

#undef GO_
#undef EC_
#undef F_
#undef GO_CAT
#undef GO_CAT2
#undef GO
#undef GO_EC
#undef GO_F
#undef GO_GENERATOR
