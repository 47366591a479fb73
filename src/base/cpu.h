/* What this processor can do, asked once. Thread-safe. */
#ifndef CUZK_BASE_CPU_H
#define CUZK_BASE_CPU_H

#include <stdbool.h>
#include <stddef.h>

/* Which arithmetic a CPU operation uses. Results never differ. */
typedef enum cuzk_cpu_impl {
    CUZK_CPU_AUTO = 0, /* the fastest this processor runs */
    CUZK_CPU_PORTABLE, /* C only */
    CUZK_CPU_ASM,      /* scalar assembly; falls back to portable where there is none */
    CUZK_CPU_IFMA,     /* AVX-512 IFMA where it is written and the processor has it; else asm */
} cuzk_cpu_impl;

/* Cores this process may run on (affinity mask), at least 1. */
unsigned cuzk_cpu_count(void);

/* The environment variable CUZK_CPU, read once, hides what a processor has from the two functions
 * below, so that tests and benchmarks of one machine stand for others: `scalar` hides AVX-512,
 * `baseline` ADX as well; anything else hides nothing. */

/* True when AVX-512 F, DQ, VL, BW, IFMA and BMI2 are usable (processor and operating system). */
bool cuzk_cpu_has_avx512_ifma(void);

/* True when BMI2 (mulx) and ADX (adcx, adox) are there. */
bool cuzk_cpu_has_adx(void);

/* "Intel(R) Xeon(R) …", or the architecture's name when the system does not say. Writes at most
 * n bytes with the NUL. */
void cuzk_cpu_name(char *out, size_t n);

#endif
