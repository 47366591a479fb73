/* The tables of the database, their versions, and what makes a database sound. Internal to the
 * journal. */
#ifndef CUZK_ENGINE_JOURNAL_SCHEMA_H
#define CUZK_ENGINE_JOURNAL_SCHEMA_H

#include "engine/journal/db.h"

/* Every row ends with `sum`, the cuzk_sum of its other columns in this order: SQLite notices a flip
 * in its structure, this one in what it holds. */
#define CUZK__META_COLS "name,value"
#define CUZK__JOB_COLS                                                                             \
    "seq,salt,request_id,client,kind,priority,deadline,submitted,submitted_clock,n_partitions,"    \
    "meta,same,payload,payload_bytes,secret,outcome,ended,ended_clock,fetched,stage,message,"      \
    "result,result_bytes,timings"
#define CUZK__PARTITION_COLS "job,idx,done,proof,timings"
#define CUZK__BLOB_COLS "digest,bytes,data"
#define CUZK__TOTAL_COLS "kind,outcome,jobs,ns"
#define CUZK__FAULT_COLS "id,job,idx,at,stage,device,text"
#define CUZK__FACT_COLS "name,value"

enum {
    CUZK__APPLICATION_ID = 0x63757a6b, /* "cuzk", in the database's header */
    CUZK__VERSION = 2,
};

/* Settings of a connection. SQLite's code. */
int cuzk__schema_settings(cuzk__db *db);

/* Fills an empty database with the tables of a version (0: the newest), in one transaction. */
cuzk_status cuzk__schema_create(cuzk__db *db, int version, cuzk_err *err) CUZK_MUST_CHECK;

/* Checks the whole database: structure, tables, sums. *damaged: what is wrong is the file's content
 * (and not that it could not be read, or is newer than this program). */
cuzk_status cuzk__schema_check(cuzk__db *db, int newest, bool *damaged,
                               cuzk_err *err) CUZK_MUST_CHECK;

/* From an older version to `version` (0: the newest), in one transaction; *from: what it was. */
cuzk_status cuzk__schema_upgrade(cuzk__db *db, int version, int *from,
                                 cuzk_err *err) CUZK_MUST_CHECK;

#endif
