// Package e2e tries whole systems: a real scheduler, Weft's daemons, plugins and hooks as processes, simulated NICs, and users who are not root. It has
// tests only. They need root and the scheduler; where either is missing they skip, and the end of `make test` says what was not tried. WEFT_SLURM
// names the prefix of another Slurm than that on PATH.
//
// What is promised of Slurm, and the test that shows it; each runs with and without PrologFlags=Alloc unless it says otherwise:
//
//	srun -N2: environment, ids of the node's own, services on the NICs         TestStart
//	batch shell, its children, one node, a first step on a node later,
//	salloc without a step, weft env                                            TestShells
//	two users never share a VNI, four jobs on one node, stale variables        TestShared
//	scancel before, during and after Prolog, time limit                        TestCancel
//	requeue with a slow Epilog                                                 TestRequeue
//	het job; two components on one node are a table in plugins/slurm           TestHet
//	array of 20                                                                TestArray
//	a released node, a suspended job; an added node                            TestShrink, TestGrow
//	policy denies an array of eight, a bad token, an empty pool, no server     TestClasses
//	half of an array of 24 is denied; a job that may not come back             TestRefusedArray, TestRefusedForNow
//	slurmctld stands still while jobs start                                    TestSlowController
//	a NIC fails: drained with its reason, job requeued                         TestNICFails
//	a service is busy at the end and goes later                                TestBusy
//	one that does not go: drained, VNI held (in a night)                       TestBusyForGood
//	weft drain and weft resume, and Slurm's own (Alloc alone)                  TestDrain
//	slurmd and agent killed                                                    TestNodeLost
//	slurmd, agent, driver, adapter, slurmctld, server killed, each alone       TestParts
//	jobs start while a killed agent is away                                    TestAgentKilled
//	a node that Slurm drains meanwhile tells why, and weft resume               TestAgentAway
//	the server killed while jobs start and end                                 TestServerKilled
//	the server away for 15 s; in a night for two minutes                        TestServerAway
//	Weft comes and goes while jobs run                                         TestMoveOver, TestMoveOverWithoutServer
//	60 short jobs, four at a time; in a night 200                              TestMany
//	PrivateData=jobs hides jobs from an ordinary User= (Alloc alone)           TestPrivateData, TestServerOfAUser
//	Slurm's names of nodes are others than Weft's                              TestAlias
//
// TestDriversAlike needs none of it: it compares the simulated and the real NIC driver, which has gcc build a stand-in for its library.
package e2e
