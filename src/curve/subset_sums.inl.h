/* Random subset sums of many points: include-template over a group; see check.c.
 *
 * Parameters (undefined again at the end): SS (prefix to generate), SS_EC (prefix of the group),
 * SS_BA (prefix of the group's batch_affine.inl.h).
 *
 * A round draws a random number of `bits` bits for every point and adds the point to the bucket
 * of that number; the sum of the buckets whose number has bit j is then the sum of a uniformly
 * random subset of the points, independently for every j. */

#define SS_CAT2(a, b) a##_##b
#define SS_CAT(a, b) SS_CAT2(a, b)
#define SS_(name) SS_CAT(SS, name)
#define EC_(name) SS_CAT(SS_EC, name)
#define BA_(name) SS_CAT(SS_BA, name)

typedef struct SS_(work_t) {
    BA_(scratch_t) batch;
    EC_(affine_t) bucket[1 << MAX_BITS];
    uint32_t busy[1 << MAX_BITS]; /* the batch that last used the bucket */
    uint32_t late[CUZK__BATCH];   /* points whose bucket was busy */
    uint16_t number[CHUNK];
} SS_(work_t);

/* All n points into the buckets of their numbers. A batch takes a bucket once; points that come
 * too early wait for the next one. */
static void SS_(fill)(SS_(work_t) * w, const uint8_t *points, size_t n) {
    size_t next = 0, late = 0;
    uint16_t slot[CUZK__BATCH];
    memset(w->bucket, 0, sizeof w->bucket);
    memset(w->busy, 0, sizeof w->busy);
    for (uint32_t round = 1; next < n || late > 0; round++) {
        size_t len = 0, kept = 0, waiting = 0;
        while (len < CUZK__BATCH && (waiting < late || (next < n && kept < CUZK__BATCH))) {
            const uint32_t i = waiting < late ? w->late[waiting++] : (uint32_t)next++;
            const uint16_t b = w->number[i];
            if (w->busy[b] == round) {
                w->late[kept++] = i; /* kept < waiting, or the list has room */
                continue;
            }
            w->busy[b] = round;
            slot[len] = b;
            w->batch.a[len] = w->bucket[b];
            memcpy(&w->batch.b[len], points + i * sizeof(EC_(affine_t)), sizeof(EC_(affine_t)));
            len++;
        }
        while (waiting < late)
            w->late[kept++] = w->late[waiting++];
        late = kept;
        BA_(add)(w->batch.a, w->batch.b, len, &w->batch);
        for (size_t k = 0; k < len; k++)
            w->bucket[slot[k]] = w->batch.a[k];
    }
}

/* r = the sum of n points, which are overwritten: halves are added until one is left. */
static void SS_(total)(EC_(affine_t) * r, EC_(affine_t) * p, size_t n, BA_(scratch_t) * s) {
    for (; n > 1; n /= 2) {
        for (size_t i = 0; i < n / 2; i += CUZK__BATCH) {
            const size_t len = n / 2 - i < CUZK__BATCH ? n / 2 - i : CUZK__BATCH;
            BA_(add)(p + i, p + n / 2 + i, len, s);
        }
    }
    *r = p[0];
}

/* One round: whether all its subset sums pass `good`. bits >= 1; w->number is filled in. */
static bool SS_(round)(SS_(work_t) * w, const uint8_t *points, size_t n, unsigned bits,
                       bool (*good)(const void *a)) {
    EC_(affine_t) sum;
    SS_(fill)(w, points, n);
    for (unsigned j = bits; j-- > 0;) {
        /* the upper half has bit j; fold it into the lower half, then add it up */
        const size_t half = (size_t)1 << j;
        for (size_t i = 0; i < half; i += CUZK__BATCH) {
            const size_t len = half - i < CUZK__BATCH ? half - i : CUZK__BATCH;
            BA_(add)(w->bucket + i, w->bucket + half + i, len, &w->batch);
        }
        SS_(total)(&sum, w->bucket + half, half, &w->batch);
        if (!good(&sum)) return false;
    }
    return true;
}

/* n <= CHUNK points, which must be on the curve: ALL_GOOD is wrong with a probability of 2^-SUMS
 * at most, SOME_BAD never; UNKNOWN without memory or randomness. */
static verdict SS_(judge)(const uint8_t *points, size_t n, unsigned bits,
                          bool (*good)(const void *a)) {
    void *mem;
    if (cuzk_alloc(&mem, 1, sizeof(SS_(work_t))) != CUZK_OK) return UNKNOWN;
    SS_(work_t) *w = mem;
    verdict v = ALL_GOOD;
    for (unsigned sums = 0; sums < SUMS && v == ALL_GOOD; sums += bits) {
        if (cuzk_random(w->number, n * sizeof w->number[0], NULL) != CUZK_OK) {
            v = UNKNOWN;
            break;
        }
        for (size_t i = 0; i < n; i++)
            w->number[i] &= (uint16_t)((1u << bits) - 1);
        if (!SS_(round)(w, points, n, bits, good)) v = SOME_BAD;
    }
    cuzk_free(mem);
    return v;
}

#undef SS_
#undef EC_
#undef BA_
#undef SS_CAT
#undef SS_CAT2
#undef SS
#undef SS_EC
#undef SS_BA
