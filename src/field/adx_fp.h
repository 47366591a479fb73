/* Products, sums and differences of 4 and 6 limbs without full reduction, for vec_fp_adx.inl.h:
 * x86-64 with BMI2 (mulx) and ADX (adcx, adox). p is the modulus, R = 2^(64 limbs) > 4p.
 *
 * Every operand and result is below 2p. Product: CIOS (Koc, Acar, Kaliski 1996) by rows over the
 * limbs of a. From t < w + p a row makes (t + a_i w + m p) / 2^64 < w + p < R, so nothing is lost
 * between rows, and the result is below a w / R + p < 2p for a, w < 2p. */
#ifndef CUZK_FIELD_ADX_FP_H
#define CUZK_FIELD_ADX_FP_H

#include "field/limb.h"

/* (t6 … t0) += rdx * (m5 … m0): low halves along OF, high halves along CF, both clear before. */
#define CUZK__ADX6_STEP(m, t0, t1)                                                                 \
    "mulxq " m ", %[lo], %[hi]\n\tadoxq %[lo], " t0 "\n\tadcxq %[hi], " t1 "\n\t"
#define CUZK__ADX6_STEPS(m0, m1, m2, m3, m4, m5, t0, t1, t2, t3, t4, t5, t6)                       \
    CUZK__ADX6_STEP(m0, t0, t1)                                                                    \
    CUZK__ADX6_STEP(m1, t1, t2)                                                                    \
    CUZK__ADX6_STEP(m2, t2, t3)                                                                    \
    CUZK__ADX6_STEP(m3, t3, t4) CUZK__ADX6_STEP(m4, t4, t5) CUZK__ADX6_STEP(m5, t5, t6)

/* m = t0 n0; (t6 … t0) += m p, after which t0 is zero. */
#define CUZK__ADX6_FOLD(t0, t1, t2, t3, t4, t5, t6)                                                \
    "movq " t0 ", %%rdx\n\timulq %[n0], %%rdx\n\txorq %[lo], %[lo]\n\t" CUZK__ADX6_STEPS(          \
        "%[p0]", "%[p1]", "%[p2]", "%[p3]", "%[p4]", "%[p5]", t0, t1, t2, t3, t4, t5,              \
        t6) "adoxq " t0 ", " t6 "\n\t"

/* (t6 … t0) = (t5 … t0) + a_i w, folded; off is 8 i. */
#define CUZK__ADX6_ROW(off, t0, t1, t2, t3, t4, t5, t6)                                            \
    "movq " off "(%[a]), %%rdx\n\txorq " t6 ", " t6                                                \
    "\n\t" CUZK__ADX6_STEPS("0(%[w])", "8(%[w])", "16(%[w])", "24(%[w])", "32(%[w])", "40(%[w])",  \
                            t0, t1, t2, t3, t4, t5,                                                \
                            t6) "movl $0, %k[lo]\n\tadoxq %[lo], " t6                              \
                                "\n\t" CUZK__ADX6_FOLD(t0, t1, t2, t3, t4, t5, t6)

/* (t6 … t0) = a_0 w, folded. */
#define CUZK__ADX6_ROW_FIRST(t0, t1, t2, t3, t4, t5, t6)                                           \
    "movq 0(%[a]), %%rdx\n\tmulxq 0(%[w]), " t0 ", " t1 "\n\tmulxq 8(%[w]), %[lo], " t2            \
    "\n\taddq %[lo], " t1 "\n\tmulxq 16(%[w]), %[lo], " t3 "\n\tadcq %[lo], " t2                   \
    "\n\tmulxq 24(%[w]), %[lo], " t4 "\n\tadcq %[lo], " t3 "\n\tmulxq 32(%[w]), %[lo], " t5        \
    "\n\tadcq %[lo], " t4 "\n\tmulxq 40(%[w]), %[lo], " t6 "\n\tadcq %[lo], " t5                   \
    "\n\tadcq $0, " t6 "\n\t" CUZK__ADX6_FOLD(t0, t1, t2, t3, t4, t5, t6)

#define CUZK__ADX6_MUL                                                                             \
    CUZK__ADX6_ROW_FIRST("%[r0]", "%[r1]", "%[r2]", "%[r3]", "%[r4]", "%[r5]", "%[r6]")            \
    CUZK__ADX6_ROW("8", "%[r1]", "%[r2]", "%[r3]", "%[r4]", "%[r5]", "%[r6]", "%[r0]")             \
    CUZK__ADX6_ROW("16", "%[r2]", "%[r3]", "%[r4]", "%[r5]", "%[r6]", "%[r0]", "%[r1]")            \
    CUZK__ADX6_ROW("24", "%[r3]", "%[r4]", "%[r5]", "%[r6]", "%[r0]", "%[r1]", "%[r2]")            \
    CUZK__ADX6_ROW("32", "%[r4]", "%[r5]", "%[r6]", "%[r0]", "%[r1]", "%[r2]", "%[r3]")            \
    CUZK__ADX6_ROW("40", "%[r5]", "%[r6]", "%[r0]", "%[r1]", "%[r2]", "%[r3]", "%[r4]")

static inline __attribute__((always_inline)) void cuzk__adx_mul6(uint64_t *r, const uint64_t *a,
                                                                 const uint64_t *w,
                                                                 const uint64_t *p,
                                                                 const uint64_t *n0) {
    uint64_t r0, r1, r2, r3, r4, r5, r6, lo, hi;
    __asm__ volatile(
        CUZK__ADX6_MUL "movq %[r6], 0(%[d])\n\tmovq %[r0], 8(%[d])\n\tmovq %[r1], 16(%[d])\n\t"
                       "movq %[r2], 24(%[d])\n\tmovq %[r3], 32(%[d])\n\tmovq %[r4], 40(%[d])"
        : [r0] "=&r"(r0), [r1] "=&r"(r1), [r2] "=&r"(r2), [r3] "=&r"(r3), [r4] "=&r"(r4),
          [r5] "=&r"(r5), [r6] "=&r"(r6), [lo] "=&r"(lo), [hi] "=&r"(hi)
        : [a] "r"(a), [w] "r"(w), [d] "r"(r), [p0] "m"(p[0]), [p1] "m"(p[1]), [p2] "m"(p[2]),
          [p3] "m"(p[3]), [p4] "m"(p[4]), [p5] "m"(p[5]), [n0] "m"(*n0)
        : "rdx", "cc", "memory");
}

/* As above with four limbs. */
#define CUZK__ADX4_STEPS(m0, m1, m2, m3, t0, t1, t2, t3, t4)                                       \
    CUZK__ADX6_STEP(m0, t0, t1)                                                                    \
    CUZK__ADX6_STEP(m1, t1, t2) CUZK__ADX6_STEP(m2, t2, t3) CUZK__ADX6_STEP(m3, t3, t4)
#define CUZK__ADX4_FOLD(t0, t1, t2, t3, t4)                                                        \
    "movq " t0 ", %%rdx\n\timulq %[n0], %%rdx\n\txorq %[lo], %[lo]\n\t" CUZK__ADX4_STEPS(          \
        "%[p0]", "%[p1]", "%[p2]", "%[p3]", t0, t1, t2, t3, t4) "adoxq " t0 ", " t4 "\n\t"
#define CUZK__ADX4_ROW(off, t0, t1, t2, t3, t4)                                                    \
    "movq " off "(%[a]), %%rdx\n\txorq " t4 ", " t4                                                \
    "\n\t" CUZK__ADX4_STEPS("0(%[w])", "8(%[w])", "16(%[w])", "24(%[w])", t0, t1, t2, t3,          \
                            t4) "movl $0, %k[lo]\n\tadoxq %[lo], " t4                              \
                                "\n\t" CUZK__ADX4_FOLD(t0, t1, t2, t3, t4)
#define CUZK__ADX4_ROW_FIRST(t0, t1, t2, t3, t4)                                                   \
    "movq 0(%[a]), %%rdx\n\tmulxq 0(%[w]), " t0 ", " t1 "\n\tmulxq 8(%[w]), %[lo], " t2            \
    "\n\taddq %[lo], " t1 "\n\tmulxq 16(%[w]), %[lo], " t3 "\n\tadcq %[lo], " t2                   \
    "\n\tmulxq 24(%[w]), %[lo], " t4 "\n\tadcq %[lo], " t3 "\n\tadcq $0, " t4                      \
    "\n\t" CUZK__ADX4_FOLD(t0, t1, t2, t3, t4)
#define CUZK__ADX4_MUL                                                                             \
    CUZK__ADX4_ROW_FIRST("%[r0]", "%[r1]", "%[r2]", "%[r3]", "%[r4]")                              \
    CUZK__ADX4_ROW("8", "%[r1]", "%[r2]", "%[r3]", "%[r4]", "%[r0]")                               \
    CUZK__ADX4_ROW("16", "%[r2]", "%[r3]", "%[r4]", "%[r0]", "%[r1]")                              \
    CUZK__ADX4_ROW("24", "%[r3]", "%[r4]", "%[r0]", "%[r1]", "%[r2]")

static inline __attribute__((always_inline)) void cuzk__adx_mul4(uint64_t *r, const uint64_t *a,
                                                                 const uint64_t *w,
                                                                 const uint64_t *p,
                                                                 const uint64_t *n0) {
    uint64_t r0, r1, r2, r3, r4, lo, hi;
    __asm__ volatile(CUZK__ADX4_MUL
                     "movq %[r4], 0(%[d])\n\tmovq %[r0], 8(%[d])\n\tmovq %[r1], 16(%[d])\n\t"
                     "movq %[r2], 24(%[d])"
                     : [r0] "=&r"(r0), [r1] "=&r"(r1), [r2] "=&r"(r2), [r3] "=&r"(r3),
                       [r4] "=&r"(r4), [lo] "=&r"(lo), [hi] "=&r"(hi)
                     : [a] "r"(a), [w] "r"(w), [d] "r"(r), [p0] "m"(p[0]), [p1] "m"(p[1]),
                       [p2] "m"(p[2]), [p3] "m"(p[3]), [n0] "m"(*n0)
                     : "rdx", "cc", "memory");
}

/* Limbs to memory one by one: a compiler would join them in vector registers. */
static inline __attribute__((always_inline)) void
cuzk__adx_store4(uint64_t *r, uint64_t d0, uint64_t d1, uint64_t d2, uint64_t d3) {
    __asm__("movq %[d0], %[r0]\n\tmovq %[d1], %[r1]\n\tmovq %[d2], %[r2]\n\tmovq %[d3], %[r3]"
            : [r0] "=m"(r[0]), [r1] "=m"(r[1]), [r2] "=m"(r[2]), [r3] "=m"(r[3])
            : [d0] "r"(d0), [d1] "r"(d1), [d2] "r"(d2), [d3] "r"(d3));
}
static inline __attribute__((always_inline)) void cuzk__adx_store6(uint64_t *r, uint64_t d0,
                                                                   uint64_t d1, uint64_t d2,
                                                                   uint64_t d3, uint64_t d4,
                                                                   uint64_t d5) {
    cuzk__adx_store4(r, d0, d1, d2, d3);
    __asm__("movq %[d4], %[r4]\n\tmovq %[d5], %[r5]"
            : [r4] "=m"(r[4]), [r5] "=m"(r[5])
            : [d4] "r"(d4), [d5] "r"(d5));
}

/* r = a - b, plus q = 2p when that is negative. */
static inline __attribute__((always_inline)) void
cuzk__adx_sub6(uint64_t *r, const uint64_t *a, const uint64_t *b, const uint64_t *q) {
    uint64_t d0 = a[0], d1 = a[1], d2 = a[2], d3 = a[3], d4 = a[4], d5 = a[5], neg;
    __asm__("subq %[b0], %[d0]\n\tsbbq %[b1], %[d1]\n\tsbbq %[b2], %[d2]\n\tsbbq %[b3], %[d3]\n\t"
            "sbbq %[b4], %[d4]\n\tsbbq %[b5], %[d5]\n\tsbbq %[neg], %[neg]"
            : [d0] "+&r"(d0), [d1] "+&r"(d1), [d2] "+&r"(d2), [d3] "+&r"(d3), [d4] "+&r"(d4),
              [d5] "+&r"(d5), [neg] "=&r"(neg)
            : [b0] "m"(b[0]), [b1] "m"(b[1]), [b2] "m"(b[2]), [b3] "m"(b[3]), [b4] "m"(b[4]),
              [b5] "m"(b[5])
            : "cc");
    __asm__("addq %[q0], %[d0]\n\tadcq %[q1], %[d1]\n\tadcq %[q2], %[d2]\n\tadcq %[q3], %[d3]\n\t"
            "adcq %[q4], %[d4]\n\tadcq %[q5], %[d5]"
            : [d0] "+&r"(d0), [d1] "+&r"(d1), [d2] "+&r"(d2), [d3] "+&r"(d3), [d4] "+&r"(d4),
              [d5] "+&r"(d5)
            : [q0] "rm"(q[0] & neg), [q1] "rm"(q[1] & neg), [q2] "rm"(q[2] & neg),
              [q3] "rm"(q[3] & neg), [q4] "rm"(q[4] & neg), [q5] "rm"(q[5] & neg)
            : "cc");
    cuzk__adx_store6(r, d0, d1, d2, d3, d4, d5);
}

static inline __attribute__((always_inline)) void
cuzk__adx_sub4(uint64_t *r, const uint64_t *a, const uint64_t *b, const uint64_t *q) {
    uint64_t d0 = a[0], d1 = a[1], d2 = a[2], d3 = a[3], neg;
    __asm__("subq %[b0], %[d0]\n\tsbbq %[b1], %[d1]\n\tsbbq %[b2], %[d2]\n\tsbbq %[b3], %[d3]\n\t"
            "sbbq %[neg], %[neg]"
            : [d0] "+&r"(d0), [d1] "+&r"(d1), [d2] "+&r"(d2), [d3] "+&r"(d3), [neg] "=&r"(neg)
            : [b0] "m"(b[0]), [b1] "m"(b[1]), [b2] "m"(b[2]), [b3] "m"(b[3])
            : "cc");
    __asm__(
        "addq %[q0], %[d0]\n\tadcq %[q1], %[d1]\n\tadcq %[q2], %[d2]\n\tadcq %[q3], %[d3]"
        : [d0] "+&r"(d0), [d1] "+&r"(d1), [d2] "+&r"(d2), [d3] "+&r"(d3)
        : [q0] "rm"(q[0] & neg), [q1] "rm"(q[1] & neg), [q2] "rm"(q[2] & neg), [q3] "rm"(q[3] & neg)
        : "cc");
    cuzk__adx_store4(r, d0, d1, d2, d3);
}

/* r = a + b, minus q = 2p when that is not below it. */
static inline __attribute__((always_inline)) void
cuzk__adx_add6(uint64_t *r, const uint64_t *a, const uint64_t *b, const uint64_t *q) {
    uint64_t s[6] = {a[0], a[1], a[2], a[3], a[4], a[5]};
    __asm__("addq %[b0], %[s0]\n\tadcq %[b1], %[s1]\n\tadcq %[b2], %[s2]\n\tadcq %[b3], %[s3]\n\t"
            "adcq %[b4], %[s4]\n\tadcq %[b5], %[s5]"
            : [s0] "+&r"(s[0]), [s1] "+&r"(s[1]), [s2] "+&r"(s[2]), [s3] "+&r"(s[3]),
              [s4] "+&r"(s[4]), [s5] "+&r"(s[5])
            : [b0] "m"(b[0]), [b1] "m"(b[1]), [b2] "m"(b[2]), [b3] "m"(b[3]), [b4] "m"(b[4]),
              [b5] "m"(b[5])
            : "cc");
    cuzk__adx_sub6(r, s, q, q);
}

static inline __attribute__((always_inline)) void
cuzk__adx_add4(uint64_t *r, const uint64_t *a, const uint64_t *b, const uint64_t *q) {
    uint64_t s[4] = {a[0], a[1], a[2], a[3]};
    __asm__("addq %[b0], %[s0]\n\tadcq %[b1], %[s1]\n\tadcq %[b2], %[s2]\n\tadcq %[b3], %[s3]"
            : [s0] "+&r"(s[0]), [s1] "+&r"(s[1]), [s2] "+&r"(s[2]), [s3] "+&r"(s[3])
            : [b0] "m"(b[0]), [b1] "m"(b[1]), [b2] "m"(b[2]), [b3] "m"(b[3])
            : "cc");
    cuzk__adx_sub4(r, s, q, q);
}

#endif
