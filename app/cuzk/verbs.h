/* Every verb of `cuzk`: name, function, one line of help. A new verb is a line here and a file.
 *
 * X: verbs of the program `cuzk` itself, which loads no library that they do not need: a small
 * proof takes less time than OpenSSL and SQLite take to load. Y: verbs that `cuzk` hands on to
 * `cuzk-full` beside it, which has those of both kinds. */
#ifndef CUZK_VERBS_H
#define CUZK_VERBS_H

/* Those that talk to a daemon. */
#ifdef CUZK_HAVE_RPC
#define CUZK_REMOTE_VERBS(Y)                                                                       \
    Y("submit", cuzk_cmd_submit, "give a job to a running cuzkd")                                  \
    Y("await", cuzk_cmd_await, "wait for a job and fetch its proof")                               \
    Y("status", cuzk_cmd_status, "what a cuzkd does: devices, keys, queues, jobs")                 \
    Y("watch", cuzk_cmd_watch, "what happens in a cuzkd, as it happens")                           \
    Y("cancel", cuzk_cmd_cancel, "end jobs of a cuzkd")                                            \
    Y("drain", cuzk_cmd_drain, "let a cuzkd finish and take no new jobs")                          \
    Y("resume", cuzk_cmd_resume, "let it take jobs again")                                         \
    Y("preload", cuzk_cmd_preload, "load keys in a cuzkd before jobs ask for them")                \
    Y("evict", cuzk_cmd_evict, "give the memory of its keys back")                                 \
    Y("lend", cuzk_cmd_lend, "free memory of its devices for another program")
#else
#define CUZK_REMOTE_VERBS(Y)
#endif

#define CUZK_VERBS(X, Y)                                                                           \
    X("prove", cuzk_cmd_prove, "make a proof from a .zkey and a .wtns")                            \
    X("verify", cuzk_cmd_verify, "check a proof against a verification key")                       \
    Y("setup", cuzk_cmd_setup, "make a development key (insecure)")                                \
    Y("params", cuzk_cmd_params, "check the keys in Filecoin's parameter directory")               \
    Y("sector", cuzk_cmd_sector, "make a Filecoin sector to prove, real or synthetic")             \
    Y("porep", cuzk_cmd_porep, "prove and verify a Filecoin sector's replication (C2)")            \
    Y("wpost", cuzk_cmd_wpost, "prove and verify Filecoin's WindowPoSt")                           \
    Y("winning", cuzk_cmd_winning, "prove and verify Filecoin's WinningPoSt")                      \
    Y("snap", cuzk_cmd_snap, "prove and verify Filecoin's sector updates (SnapDeals)")             \
    Y("inspect", cuzk_cmd_inspect, "explain a file of circom or snarkjs")                          \
    X("wtns", cuzk_cmd_wtns, "check a witness against a .r1cs")                                    \
    X("export-vk", cuzk_cmd_export_vk, "write the verification key inside a .zkey")                \
    X("export-verifier", cuzk_cmd_export_verifier, "write a Solidity verifier contract")           \
    X("calldata", cuzk_cmd_calldata, "print a proof as arguments of that contract")                \
    Y("bench", cuzk_cmd_bench, "time transforms, sums and proofs, every result checked")           \
    Y("plan", cuzk_cmd_plan, "what a key takes on a GPU, and how fast it proves there")            \
    Y("simulate", cuzk_cmd_simulate, "what a GPU, a host and a load will give")                    \
    Y("timeline", cuzk_cmd_timeline, "how busy devices were, and why not busier, from a log")      \
    Y("circuit", cuzk_cmd_circuit, "list, measure and digest the circuits of Filecoin")            \
    CUZK_REMOTE_VERBS(Y)

#define CUZK__DECLARE(verb_name, function, text) int function(int argc, char **argv);
CUZK_VERBS(CUZK__DECLARE, CUZK__DECLARE)
#undef CUZK__DECLARE

#endif
