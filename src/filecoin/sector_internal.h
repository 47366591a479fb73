/* What the makers of sectors share. Internal. */
#ifndef CUZK_FILECOIN_SECTOR_INTERNAL_H
#define CUZK_FILECOIN_SECTOR_INTERNAL_H

#include "filecoin/labels.h"
#include "filecoin/sector.h"
#include "filecoin/trees.h"

/* A sector whose tree D, C and R exist, with the labels that can be opened. */
typedef struct cuzk__sector {
    const cuzk_porep_circuit *c;
    uint64_t number;
    cuzk_graph graph;
    uint8_t porep_id[32], ticket[32], seed[32];
    uint8_t replica_id[32], comm_d[32], comm_c[32], comm_r_last[32], comm_r[32];
    cuzk__tree d, columns, replica; /* trees D, C, R */
    cuzk_labels labels;             /* real */
    /* synthetic: the columns of the opened nodes */
    size_t n_opened;
    uint64_t *opened; /* ascending */
    uint8_t *column;  /* layers times 32 bytes each */
    /* the proof's challenges, all partitions */
    uint32_t partitions;
    uint64_t *challenges;
} cuzk__sector;

/* ---- sector_data.c ---- */

/* v(text) and w(text) of sector.h; n < 64. */
cuzk_status cuzk__derive(uint8_t out[32], const cuzk_sector_spec *s, const char *fmt, ...)
    CUZK_PRINTF(3, 4) CUZK_MUST_CHECK;
cuzk_status cuzk__derive_31(uint8_t out[32], const cuzk_sector_spec *s, const char *fmt, ...)
    CUZK_PRINTF(3, 4) CUZK_MUST_CHECK;

/* The data nodes of a real sector: the piece padded to field elements. *out: 32 bytes a node, free
 * with cuzk_free. given: s->data is used where there is one. what: "data" or "update data". */
cuzk_status cuzk__data_nodes(uint8_t **out, const cuzk_sector_spec *s, uint32_t log2_nodes,
                             uint64_t number, const char *what, bool given) CUZK_MUST_CHECK;

/* Poseidon of two 32-byte values: comm_r. */
static inline cuzk_status cuzk__comm_r(uint8_t out[32], const cuzk_poseidon_set *p,
                                       const uint8_t comm_c[32], const uint8_t comm_r_last[32]) {
    uint8_t in[64];
    memcpy(in, comm_c, 32);
    memcpy(in + 32, comm_r_last, 32);
    return cuzk__tree_node(out, p, 2, in);
}

/* ---- sector_seal.c, sector_sparse.c ---- */

/* Seals sector `number`. piece: its data comes from s->data where there is one. Free with
 * cuzk__sector_free, also after a failure. The challenges of a porep are not set. */
cuzk_status cuzk__sector_seal(cuzk__sector *x, const cuzk_sector_spec *s,
                              const cuzk_porep_circuit *c, const cuzk_seal_type *seal,
                              uint64_t number, bool piece,
                              const cuzk__tree_maker *m) CUZK_MUST_CHECK;
/* Opens a synthetic one at the challenges of its proof. */
cuzk_status cuzk__sector_sparse(cuzk__sector *x, const cuzk_sector_spec *s,
                                const cuzk__tree_maker *m) CUZK_MUST_CHECK;
void cuzk__sector_free(cuzk__sector *x);

/* Sets the values that do not need the trees: porep_id, graph, ticket, seed. */
cuzk_status cuzk__sector_begin(cuzk__sector *x, const cuzk_sector_spec *s,
                               const cuzk_porep_circuit *c, const cuzk_seal_type *seal,
                               uint64_t number) CUZK_MUST_CHECK;
cuzk_status cuzk__sector_replica_id(cuzk__sector *x, uint64_t miner) CUZK_MUST_CHECK;
/* Sets the challenges; replica_id and what the rule needs are set. */
cuzk_status cuzk__sector_challenges(cuzk__sector *x, const cuzk_seal_type *seal) CUZK_MUST_CHECK;

/* The column of a node that is open: layers times 32 bytes. */
void cuzk__sector_column(uint8_t *out, const cuzk__sector *x, uint64_t node);
/* One label of it. */
const uint8_t *cuzk__sector_label(const cuzk__sector *x, uint32_t layer, uint64_t node);

/* ---- makers ---- */

cuzk_status cuzk__make_c1(cuzk_buf *out, const cuzk_sector_spec *s, const cuzk__tree_maker *m,
                          cuzk_c1_format format, cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk__make_post(cuzk_buf *out, const cuzk_sector_spec *s, const cuzk__tree_maker *m,
                            cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk__make_update(cuzk_buf *out, const cuzk_sector_spec *s, const cuzk__tree_maker *m,
                              cuzk_err *err) CUZK_MUST_CHECK;

/* ---- sector_json.c ---- */

/* Appends base64, without line breaks. */
void cuzk__put_base64(cuzk_buf *b, const void *data, size_t n);
/* The C1 output as filecoin-ffi writes it, from its bincode form. seal is not NULL. */
cuzk_status cuzk__c1_to_json(cuzk_buf *out, const cuzk_buf *bincode, const cuzk_seal_type *seal,
                             cuzk_err *err) CUZK_MUST_CHECK;
/* A request: begin, then members, then end. */
void cuzk__request_begin(cuzk_buf *b, const cuzk_sector_spec *s, const char *kind,
                         uint64_t sector_size, uint32_t registered_proof);
void cuzk__request_blob(cuzk_buf *b, const cuzk_buf *blob, bool first);
void cuzk__request_blobs_end(cuzk_buf *b);
void cuzk__request_value(cuzk_buf *b, const char *name, const uint8_t value[32]);
void cuzk__request_number(cuzk_buf *b, const char *name, uint64_t value);
void cuzk__request_end(cuzk_buf *b);

#endif
