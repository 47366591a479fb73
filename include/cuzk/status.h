/* Results and error messages of the whole API.
 *
 * Every function that can fail returns cuzk_status; CUZK_OK is 0. A last argument `cuzk_err *err`
 * receives a sentence for a person: what was wrong, where (file, section, offset), what was
 * expected and what was found. It may be NULL. The library never prints, aborts or exits.
 *
 * This header is C11 and C++, like every header of include/cuzk. Values are part of the ABI: new
 * ones are added, none changes.
 */
#ifndef CUZK_STATUS_H
#define CUZK_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Marks the functions that the shared libraries export. */
#define CUZK_API __attribute__((visibility("default")))
#define CUZK_MUST_CHECK __attribute__((warn_unused_result))

/* name, value, exit code of the command line programs, text. */
#define CUZK_STATUS_MAP(X)                                                                         \
    X(OK, 0, 0, "success")                                                                         \
    X(FALSE, 1, 1, "the thing checked is false")                                                   \
    X(USAGE, 2, 2, "wrong use of a function or command")                                           \
    X(BAD_INPUT, 3, 3, "malformed input")                                                          \
    X(IO, 4, 4, "cannot read or write")                                                            \
    X(NO_MEMORY, 5, 5, "not enough memory")                                                        \
    X(NO_DEVICE, 6, 5, "no such device")                                                           \
    X(FAILED, 7, 6, "the job failed, was cancelled or timed out")                                  \
    X(BUSY, 8, 75, "busy or unreachable: try again")                                               \
    X(NOT_FOUND, 9, 3, "no such job or key")                                                       \
    X(CONFLICT, 10, 3, "already there, and different")                                             \
    X(BUG, 70, 70, "internal error")

/* CUZK_STATUS_OK, CUZK_STATUS_FALSE, … */
typedef enum cuzk_status {
#define CUZK__STATUS_ENUM(name, value, exit_code, text) CUZK_STATUS_##name = (value),
    CUZK_STATUS_MAP(CUZK__STATUS_ENUM)
#undef CUZK__STATUS_ENUM
} cuzk_status;

#define CUZK_OK CUZK_STATUS_OK

/* A message for a person, in English, always NUL-terminated, never with a secret in it. Owned by
 * the caller, usually on the stack: `cuzk_err err = {0};` (C++: `cuzk_err err{};`). A function
 * that succeeds leaves it as it was. */
typedef struct cuzk_err {
    cuzk_status status;
    char msg[640];
} cuzk_err;

/* A constant text for a status; "unknown status" for values not in the map. Thread-safe. */
CUZK_API const char *cuzk_status_text(cuzk_status st);

/* The exit code every program of the project uses for this status. Thread-safe. */
CUZK_API int cuzk_status_exit_code(cuzk_status st);

#ifdef __cplusplus
}
#endif

#endif
