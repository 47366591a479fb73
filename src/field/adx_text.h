/* Assembly text for vec_adx.inl.h: x86-64 with BMI2 (mulx) and ADX (adcx, adox), AT&T syntax.
 * Internal to that header, which states what is computed and why the bounds hold.
 *
 * Named operands: [a] [w] [x] point at four limbs, [k] at a cuzk__adx_consts; temporaries [r0] …
 * [r4], [lo], [hi] and rdx. A group of four registers holds an element, least significant limb
 * first. */
#ifndef CUZK_FIELD_ADX_TEXT_H
#define CUZK_FIELD_ADX_TEXT_H

#include <stdint.h>

/* p at 0, M at 32, n0 at 64 bytes from [k]. */
typedef struct cuzk__adx_consts {
    uint64_t p[4], m[4], n0;
} cuzk__adx_consts;

#define CUZK__ADX_TEMPS                                                                            \
    [r0] "=&r"(r0), [r1] "=&r"(r1), [r2] "=&r"(r2), [r3] "=&r"(r3), [r4] "=&r"(r4),                \
        [lo] "=&r"(lo), [hi] "=&r"(hi)

/* m = t0 n0; (t4 … t0) += m p, after which t0 is zero. Flags start clear: the two carry chains
 * are CF (high halves) and OF (low halves). */
#define CUZK__ADX_FOLD(t0, t1, t2, t3, t4)                                                         \
    "movq " t0 ", %%rdx\n\t"                                                                       \
    "imulq 64(%[k]), %%rdx\n\t"                                                                    \
    "xorq %[lo], %[lo]\n\t"                                                                        \
    "mulxq 0(%[k]), %[lo], %[hi]\n\t"                                                              \
    "adoxq %[lo], " t0 "\n\t"                                                                      \
    "adcxq %[hi], " t1 "\n\t"                                                                      \
    "mulxq 8(%[k]), %[lo], %[hi]\n\t"                                                              \
    "adoxq %[lo], " t1 "\n\t"                                                                      \
    "adcxq %[hi], " t2 "\n\t"                                                                      \
    "mulxq 16(%[k]), %[lo], %[hi]\n\t"                                                             \
    "adoxq %[lo], " t2 "\n\t"                                                                      \
    "adcxq %[hi], " t3 "\n\t"                                                                      \
    "mulxq 24(%[k]), %[lo], %[hi]\n\t"                                                             \
    "adoxq %[lo], " t3 "\n\t"                                                                      \
    "adcxq %[hi], " t4 "\n\t"                                                                      \
    "adoxq " t0 ", " t4 "\n\t"

/* (t4 … t0) = a_0 w, folded. */
#define CUZK__ADX_ROW_FIRST(t0, t1, t2, t3, t4)                                                    \
    "movq 0(%[a]), %%rdx\n\t"                                                                      \
    "mulxq 0(%[w]), " t0 ", " t1 "\n\t"                                                            \
    "mulxq 8(%[w]), %[lo], " t2 "\n\t"                                                             \
    "addq %[lo], " t1 "\n\t"                                                                       \
    "mulxq 16(%[w]), %[lo], " t3 "\n\t"                                                            \
    "adcq %[lo], " t2 "\n\t"                                                                       \
    "mulxq 24(%[w]), %[lo], " t4 "\n\t"                                                            \
    "adcq %[lo], " t3 "\n\t"                                                                       \
    "adcq $0, " t4 "\n\t" CUZK__ADX_FOLD(t0, t1, t2, t3, t4)

/* (t4 … t0) = (t3 … t0) + a_i w, folded; off is 8 i. */
#define CUZK__ADX_ROW(off, t0, t1, t2, t3, t4)                                                     \
    "movq " off "(%[a]), %%rdx\n\t"                                                                \
    "xorq " t4 ", " t4 "\n\t"                                                                      \
    "mulxq 0(%[w]), %[lo], %[hi]\n\t"                                                              \
    "adoxq %[lo], " t0 "\n\t"                                                                      \
    "adcxq %[hi], " t1 "\n\t"                                                                      \
    "mulxq 8(%[w]), %[lo], %[hi]\n\t"                                                              \
    "adoxq %[lo], " t1 "\n\t"                                                                      \
    "adcxq %[hi], " t2 "\n\t"                                                                      \
    "mulxq 16(%[w]), %[lo], %[hi]\n\t"                                                             \
    "adoxq %[lo], " t2 "\n\t"                                                                      \
    "adcxq %[hi], " t3 "\n\t"                                                                      \
    "mulxq 24(%[w]), %[lo], %[hi]\n\t"                                                             \
    "adoxq %[lo], " t3 "\n\t"                                                                      \
    "adcxq %[hi], " t4 "\n\t"                                                                      \
    "movl $0, %k[lo]\n\t"                                                                          \
    "adoxq %[lo], " t4 "\n\t" CUZK__ADX_FOLD(t0, t1, t2, t3, t4)

/* The product of [a] and [w], below 2p, in r4 r0 r1 r2. */
#define CUZK__ADX_MUL                                                                              \
    CUZK__ADX_ROW_FIRST("%[r0]", "%[r1]", "%[r2]", "%[r3]", "%[r4]")                               \
    CUZK__ADX_ROW("8", "%[r1]", "%[r2]", "%[r3]", "%[r4]", "%[r0]")                                \
    CUZK__ADX_ROW("16", "%[r2]", "%[r3]", "%[r4]", "%[r0]", "%[r1]")                               \
    CUZK__ADX_ROW("24", "%[r3]", "%[r4]", "%[r0]", "%[r1]", "%[r2]")

#define CUZK__ADX_OP4(first, next, from, t0, t1, t2, t3)                                           \
    first " 0" from ", " t0 "\n\t" next " 8" from ", " t1 "\n\t" next " 16" from ", " t2           \
          "\n\t" next " 24" from ", " t3 "\n\t"
#define CUZK__ADX_LOAD(from, t0, t1, t2, t3)                                                       \
    CUZK__ADX_OP4("movq", "movq", "(" from ")", t0, t1, t2, t3)
#define CUZK__ADX_ADD(from, t0, t1, t2, t3)                                                        \
    CUZK__ADX_OP4("addq", "adcq", "(" from ")", t0, t1, t2, t3)
#define CUZK__ADX_SUB(from, t0, t1, t2, t3)                                                        \
    CUZK__ADX_OP4("subq", "sbbq", "(" from ")", t0, t1, t2, t3)
#define CUZK__ADX_ADD_M(t0, t1, t2, t3)                                                            \
    "addq 32(%[k]), " t0 "\n\tadcq 40(%[k]), " t1 "\n\tadcq 48(%[k]), " t2                         \
    "\n\tadcq 56(%[k]), " t3 "\n\t"
#define CUZK__ADX_STORE(to, t0, t1, t2, t3)                                                        \
    "movq " t0 ", 0(" to ")\n\tmovq " t1 ", 8(" to ")\n\tmovq " t2 ", 16(" to ")\n\tmovq " t3      \
    ", 24(" to ")\n\t"

/* t minus the constant when that is not negative; u is scratch. */
#define CUZK__ADX_CSUB_BODY(c0, c1, c2, c3, t0, t1, t2, t3, u0, u1, u2, u3)                        \
    "movq " t0 ", " u0 "\n\tsubq " c0 "(%[k]), " u0 "\n\tmovq " t1 ", " u1 "\n\tsbbq " c1          \
    "(%[k]), " u1 "\n\tmovq " t2 ", " u2 "\n\tsbbq " c2 "(%[k]), " u2 "\n\tmovq " t3 ", " u3       \
    "\n\tsbbq " c3 "(%[k]), " u3 "\n\tcmovncq " u0 ", " t0 "\n\tcmovncq " u1 ", " t1               \
    "\n\tcmovncq " u2 ", " t2 "\n\tcmovncq " u3 ", " t3 "\n\t"
#define CUZK__ADX_CSUB_P(...) CUZK__ADX_CSUB_BODY("0", "8", "16", "24", __VA_ARGS__)
#define CUZK__ADX_CSUB_M(...) CUZK__ADX_CSUB_BODY("32", "40", "48", "56", __VA_ARGS__)

/* After CUZK__ADX_MUL: p subtracted from the product when it is not below it. */
#define CUZK__ADX_REDUCE_PRODUCT                                                                   \
    CUZK__ADX_CSUB_P("%[r4]", "%[r0]", "%[r1]", "%[r2]", "%[r3]", "%[lo]", "%[hi]", "%%rdx")

/* After the product: *s = [x] + product, *d = [x] - product + M. */
#define CUZK__ADX_CT_END(s, d)                                                                     \
    CUZK__ADX_LOAD("%[x]", "%[r3]", "%[lo]", "%[hi]", "%%rdx")                                     \
    CUZK__ADX_ADD_M("%[r3]", "%[lo]", "%[hi]", "%%rdx")                                            \
    "subq %[r4], %[r3]\n\tsbbq %[r0], %[lo]\n\tsbbq %[r1], %[hi]\n\tsbbq %[r2], "                  \
    "%%rdx\n\t" CUZK__ADX_ADD("%[x]", "%[r4]", "%[r0]", "%[r1]", "%[r2]")                          \
        CUZK__ADX_STORE(s, "%[r4]", "%[r0]", "%[r1]", "%[r2]")                                     \
            CUZK__ADX_STORE(d, "%[r3]", "%[lo]", "%[hi]", "%%rdx")

/* *x minus p (or M) when that is not negative. */
#define CUZK__ADX_CSUB_MEM(csub, xp, consts)                                                       \
    do {                                                                                           \
        uint64_t r0, r1, r2, r3, r4, lo, hi;                                                       \
        __asm__ volatile(                                                                          \
            CUZK__ADX_LOAD("%[x]", "%[r0]", "%[r1]", "%[r2]", "%[r3]")                             \
                csub("%[r0]", "%[r1]", "%[r2]", "%[r3]", "%[r4]", "%[lo]", "%[hi]", "%%rdx")       \
                    CUZK__ADX_STORE("%[x]", "%[r0]", "%[r1]", "%[r2]", "%[r3]")                    \
            : CUZK__ADX_TEMPS                                                                      \
            : [x] "r"(xp), [k] "r"(&(consts))                                                      \
            : "rdx", "cc", "memory");                                                              \
    } while (0)

/* *x = x + y through `csub` (or CUZK__ADX_KEEP), *y = from - less + M with from, less = x, y in
 * either order. */
#define CUZK__ADX_KEEP(...)
#define CUZK__ADX_ADD_SUB(xp, yp, consts, csub, from, less)                                        \
    do {                                                                                           \
        uint64_t r0, r1, r2, r3, r4, lo, hi;                                                       \
        __asm__ volatile(                                                                          \
            CUZK__ADX_LOAD("%[x]", "%[r0]", "%[r1]", "%[r2]",                                      \
                           "%[r3]") CUZK__ADX_ADD("%[y]", "%[r0]", "%[r1]", "%[r2]", "%[r3]")      \
                csub("%[r0]", "%[r1]", "%[r2]", "%[r3]", "%[r4]", "%[lo]", "%[hi]", "%%rdx")       \
                    CUZK__ADX_LOAD(from, "%[r4]", "%[lo]", "%[hi]", "%%rdx")                       \
                        CUZK__ADX_ADD_M("%[r4]", "%[lo]", "%[hi]", "%%rdx")                        \
                            CUZK__ADX_SUB(less, "%[r4]", "%[lo]", "%[hi]", "%%rdx")                \
                                CUZK__ADX_STORE("%[x]", "%[r0]", "%[r1]", "%[r2]", "%[r3]")        \
                                    CUZK__ADX_STORE("%[y]", "%[r4]", "%[lo]", "%[hi]", "%%rdx")    \
            : CUZK__ADX_TEMPS                                                                      \
            : [x] "r"(xp), [y] "r"(yp), [k] "r"(&(consts))                                         \
            : "rdx", "cc", "memory");                                                              \
    } while (0)

#endif
