/* Every verb of `cuzk`: name, function, one line of help. A new verb is a line here and a file. */
#ifndef CUZK_VERBS_H
#define CUZK_VERBS_H

/* Those that talk to a daemon. */
#ifdef CUZK_HAVE_RPC
#define CUZK_REMOTE_VERBS(X)                                                                       \
    X("submit", cuzk_cmd_submit, "give a job to a running cuzkd")                                  \
    X("await", cuzk_cmd_await, "wait for a job and fetch its proof")                               \
    X("status", cuzk_cmd_status, "what a cuzkd does: devices, keys, queues, jobs")                 \
    X("watch", cuzk_cmd_watch, "what happens in a cuzkd, as it happens")                           \
    X("cancel", cuzk_cmd_cancel, "end jobs of a cuzkd")                                            \
    X("drain", cuzk_cmd_drain, "let a cuzkd finish and take no new jobs")                          \
    X("resume", cuzk_cmd_resume, "let it take jobs again")                                         \
    X("preload", cuzk_cmd_preload, "load keys in a cuzkd before jobs ask for them")                \
    X("evict", cuzk_cmd_evict, "give the memory of its keys back")                                 \
    X("lend", cuzk_cmd_lend, "free memory of its devices for another program")
#else
#define CUZK_REMOTE_VERBS(X)
#endif

#define CUZK_VERBS(X)                                                                              \
    X("prove", cuzk_cmd_prove, "make a proof from a .zkey and a .wtns")                            \
    X("verify", cuzk_cmd_verify, "check a proof against a verification key")                       \
    X("setup", cuzk_cmd_setup, "make a development key (insecure)")                                \
    X("params", cuzk_cmd_params, "check the keys in Filecoin's parameter directory")               \
    X("sector", cuzk_cmd_sector, "make a Filecoin sector to prove, real or synthetic")             \
    X("porep", cuzk_cmd_porep, "prove and verify a Filecoin sector's replication (C2)")            \
    X("wpost", cuzk_cmd_wpost, "prove and verify Filecoin's WindowPoSt")                           \
    X("winning", cuzk_cmd_winning, "prove and verify Filecoin's WinningPoSt")                      \
    X("snap", cuzk_cmd_snap, "prove and verify Filecoin's sector updates (SnapDeals)")             \
    X("inspect", cuzk_cmd_inspect, "explain a file of circom or snarkjs")                          \
    X("wtns", cuzk_cmd_wtns, "check a witness against a .r1cs")                                    \
    X("export-vk", cuzk_cmd_export_vk, "write the verification key inside a .zkey")                \
    X("export-verifier", cuzk_cmd_export_verifier, "write a Solidity verifier contract")           \
    X("calldata", cuzk_cmd_calldata, "print a proof as arguments of that contract")                \
    X("bench", cuzk_cmd_bench, "time transforms, sums and proofs, every result checked")           \
    X("plan", cuzk_cmd_plan, "what a key takes on a GPU, and how fast it proves there")            \
    X("simulate", cuzk_cmd_simulate, "what a GPU, a host and a load will give")                    \
    X("timeline", cuzk_cmd_timeline, "how busy devices were, and why not busier, from a log")      \
    X("circuit", cuzk_cmd_circuit, "list, measure and digest the circuits of Filecoin")            \
    CUZK_REMOTE_VERBS(X)

#define CUZK__DECLARE(verb_name, function, text) int function(int argc, char **argv);
CUZK_VERBS(CUZK__DECLARE)
#undef CUZK__DECLARE

#endif
