/*
 * A SPANK plugin of Slurm. In slurmstepd, as root, it asks this node's Weft agent for the network of the job when a step
 * begins. Each task waits for the answer before it starts, and gets its variables: slurmstepd goes on with its own work
 * meanwhile. In srun, sbatch, salloc and slurmd the plugin does nothing.
 *
 *   cc -O2 -Wall -shared -fPIC -o weft.so weft.c      with the slurm/spank.h of the Slurm that runs
 *
 * A line of plugstack.conf loads it. Each argument may be left out; these are the defaults:
 *
 *   required /usr/lib64/weft/weft.so scheduler=slurm run=/run/weft/agent hook=/usr/bin/weft-hook timeout=60
 *
 * It drains no node. A step that may not start fails in slurm_spank_task_init_privileged, which ends it with a message
 * in its output; a failure of an earlier callback would drain the node of a batch script.
 *
 * The agent answers with lines: export NAME=VALUE, unset NAME, print TEXT and fail TEXT. Where it does not, weft-hook
 * asks instead: it waits for an agent that restarts, and obeys `weft agent bypass`.
 */
#define _GNU_SOURCE 1
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <slurm/spank.h>

SPANK_PLUGIN(weft, 1)

#define fail(...) (void)snprintf(verdict, sizeof verdict, __VA_ARGS__)
#define SAFE "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

enum { MAX_REPLY = 64 << 10, MAX_TEXT = 1024, MAX_NETWORK = 1025, NUMBERS = 5, FACTS = NUMBERS + 2 };

static const char *scheduler = "slurm", *run_dir = "/run/weft/agent", *hook = "/usr/bin/weft-hook";
static int timeout_s = 60, agent = -1; /* the socket on which the agent answers */
static int64_t until;		      /* when an answer is too late */
static char verdict[MAX_TEXT];	      /* why no task may start; empty: they may */
static char reply[MAX_REPLY];
static ssize_t replied = -2; /* bytes of the reply; -1: nobody answers; -2: nobody has listened yet */
static int loud;	     /* this is the task that prints */

/* What slurmstepd knows of the step, as NAME=VALUE. The numbers are of the credential that slurmctld signed. The last two
 * are the user's word: the job whose warnings he has, and what he asks of the network. */
static char facts[FACTS][MAX_NETWORK + 32];

static int64_t now_ms(void)
{
	struct timespec t;
	return clock_gettime(CLOCK_BOOTTIME, &t) == 0 ? (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000 : INT64_MAX;
}

/* Waits until fd has more to read or its other side has ended, and tells which, as poll does. 0: it is too late, and
 * nothing has come. */
static int comes(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLRDHUP };
	int n;
	do {
		int64_t left = until - now_ms();
		n = poll(&p, 1, left > 0 ? (int)left : 0);
	} while (n < 0 && errno == EINTR);
	return n > 0 ? p.revents : 0;
}

/* Asks the agent over root's socket, and does not wait for its answer. */
static void ask_agent(void)
{
	char out[2048], *text = out + 4;
	size_t room = sizeof out - 4, len;
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct ucred peer;
	socklen_t peer_size = sizeof peer;

	len = snprintf(text, room, "{\"version\":1,\"verb\":\"hook\",\"lines\":true,\"began\":%lld000000,\"until\":%lld000000,"
		"\"body\":{\"Scheduler\":\"%s\",\"Phase\":\"step\",\"Env\":{", (long long)now_ms(), (long long)until, scheduler);
	for (int i = 0; i < FACTS && len < room; i++)
		len += snprintf(text + len, room - len, "%s\"%.*s\":\"%s\"", i ? "," : "",
			(int)strcspn(facts[i], "="), facts[i], strchr(facts[i], '=') + 1);
	if (len < room)
		len += snprintf(text + len, room - len, "}}}");
	if (len >= room || snprintf(at.sun_path, sizeof at.sun_path, "%s/root.sock", run_dir) >= (int)sizeof at.sun_path)
		return;
	uint32_t size = htonl(len);
	memcpy(out, &size, 4);
	agent = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (agent < 0 || connect(agent, (struct sockaddr *)&at, sizeof at) != 0 ||
	    getsockopt(agent, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) != 0 || peer.uid != 0 ||
	    send(agent, out, 4 + len, MSG_NOSIGNAL) != (ssize_t)(4 + len)) {
		close(agent);
		agent = -1;
	}
}

/* Looks at the agent's answer and leaves it there for the other tasks, which have the same socket. -1: it is none. */
static ssize_t hear_agent(void)
{
	static char in[4 + MAX_REPLY];
	for (int more = agent >= 0; more;) {
		more = comes(agent) == POLLIN && now_ms() < until; /* a task that is late hears what is there, too */
		ssize_t n = recv(agent, in, sizeof in, MSG_PEEK | MSG_DONTWAIT);
		uint32_t size = 0;
		memcpy(&size, in, 4);
		if (n > 4 && (size = ntohl(size)) > 0 && size < MAX_REPLY && n >= 4 + (ssize_t)size) {
			memcpy(reply, in + 4, size);
			return *reply != '{' ? (ssize_t)size : -1;
		}
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL); /* half an answer is there to read, too */
	}
	return -1;
}

/* Has weft-hook ask. It prints the same lines, or none while Weft is bypassed and no agent has ever run. */
static ssize_t ask_hook(void)
{
	char *argv[] = { (char *)hook, "--dir", (char *)run_dir, "--say", "fail ", (char *)scheduler, "step", NULL };
	char *envp[FACTS + 1] = { NULL };
	int out[2], bad, status = -1; /* stays so where the end of weft-hook cannot be seen */
	ssize_t n = 0, got = -1;
	pid_t child;
	posix_spawn_file_actions_t files;
	for (int i = 0; i < FACTS; i++)
		envp[i] = facts[i];
	if (pipe2(out, O_CLOEXEC) != 0)
		return -1;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
	if ((bad = posix_spawn(&child, hook, &files, NULL, argv, envp)) != 0)
		fail("%s: %s", hook, strerror(bad));
	close(out[1]);
	while (!bad && n < MAX_REPLY - 1 && comes(out[0]) && (got = read(out[0], reply + n, MAX_REPLY - 1 - n)) > 0)
		n += got;
	if (!bad && got != 0)
		kill(child, SIGKILL);
	while (!bad && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (got == 0 && status != 0 && (n < 5 || strncmp(reply, "fail ", 5) != 0))
		fail("%s: it ended with status %d", hook, status);
	close(out[0]);
	return got == 0 ? n : -1;
}

/* Obeys one line. 0: it is understood. */
static int obey(spank_t spank, char *line)
{
	char *value;
	if (strncmp(line, "fail ", 5) == 0)
		fail("%s", line[5] ? line + 5 : "the agent refuses it");
	else if (strncmp(line, "print ", 6) == 0)
		(void)(loud && dprintf(STDERR_FILENO, "%s\n", line + 6));
	else if (strncmp(line, "unset ", 6) == 0)
		spank_unsetenv(spank, line + 6); /* fails where the variable is not set */
	else if (strncmp(line, "export ", 7) != 0 || !(value = strchr(line + 7, '=')) || value == line + 7)
		return -1;
	else
		return *value = '\0', spank_setenv(spank, line + 7, value + 1, 1) != ESPANK_SUCCESS;
	return 0;
}

/* Obeys the reply. Its buffer has room for one byte more. */
static void obey_all(spank_t spank)
{
	reply[replied] = '\0';
	if (strlen(reply) != (size_t)replied || reply[replied - 1] != '\n')
		return fail("the agent's answer is not whole");
	for (char *line = reply, *end; *line && !*verdict; line = end + 1) {
		end = strchr(line, '\n');
		*end = '\0';
		if (obey(spank, line) != 0)
			fail("a line of the agent's answer is not understood: build weft.so of the agent's release");
	}
}

/* Waits for an answer: the agent's, else weft-hook's. */
static void hear(void)
{
	if ((replied = hear_agent()) < 0 && now_ms() < until)
		replied = ask_hook();
	if (replied < 0 && !*verdict)
		fail("no answer within %d s: see whether this node's agent is well", timeout_s);
}

static void ask(spank_t spank)
{
	static const spank_item_t items[NUMBERS] = { S_JOB_ID, S_JOB_STEPID, S_JOB_NODEID, S_JOB_UID, S_JOB_NNODES };
	static const char *names[NUMBERS] = { "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_NODEID", "SLURM_JOB_UID", "SLURM_STEP_NUM_NODES" };
	char text[MAX_NETWORK] = "", het[16];
	uint32_t value = 0;

	for (int i = 0; i < NUMBERS; i++) {
		if (spank_get_item(spank, items[i], &value) != ESPANK_SUCCESS)
			return fail("Slurm does not say which step this is");
		snprintf(facts[i], sizeof facts[i], "%s=%u", names[i], value);
	}
	spank_getenv(spank, "WEFT_WARNED", text, sizeof text);
	snprintf(facts[NUMBERS], sizeof facts[0], "WEFT_WARNED=%lu", strtoul(text, NULL, 10));
	*text = '\0';
	spank_err_t had = spank_getenv(spank, "SLURM_NETWORK", text, sizeof text);
	if (spank_getenv(spank, "SLURM_HET_SIZE", het, sizeof het) != ESPANK_ENV_NOEXIST)
		*text = had = 0; /* one srun sets it for all components, to the last one's */
	int bad = had == ESPANK_NOSPACE || strspn(text, SAFE ",=:+") != strlen(text); /* so written has no option */
	snprintf(facts[NUMBERS + 1], sizeof facts[0], "SLURM_NETWORK=%s", bad ? "?" : text);
	snprintf(text, sizeof text, "%s/bypass", run_dir);
	if (access(text, F_OK) != 0)
		ask_agent();
}

int slurm_spank_init_post_opt(spank_t spank, int count, char **args)
{
	for (int i = 0; i < count && !*verdict && spank_context() == S_CTX_REMOTE; i++) {
		if (strncmp(args[i], "scheduler=", 10) == 0 && strspn(args[i] + 10, SAFE) == strlen(args[i] + 10))
			scheduler = args[i] + 10;
		else if (strncmp(args[i], "run=", 4) == 0)
			run_dir = args[i] + 4;
		else if (strncmp(args[i], "hook=", 5) == 0)
			hook = args[i] + 5;
		else if (strncmp(args[i], "timeout=", 8) == 0 && atoi(args[i] + 8) > 0 && atoi(args[i] + 8) <= 3600)
			timeout_s = atoi(args[i] + 8);
		else
			fail("plugstack.conf: %s: weft.so has no such argument, or it is out of range", args[i]);
	}
	until = now_ms() + timeout_s * 1000; /* srun's own limits are over once the tasks' processes are there */
	if (!*verdict && spank_context() == S_CTX_REMOTE)
		ask(spank);
	return ESPANK_SUCCESS;
}

/* Runs once for each task, in its own process, still as root and with the task's own standard error. */
int slurm_spank_task_init_privileged(spank_t spank, int count, char **args)
{
	int task = 0;
	(void)count, (void)args;
	loud = spank_get_item(spank, S_TASK_ID, &task) != ESPANK_SUCCESS || task == 0;
	if (!*verdict && replied == -2)
		hear();
	if (!*verdict && replied > 0)
		obey_all(spank);
	if (*verdict && loud)
		slurm_error("weft: %s", verdict);
	/* A result above 0, such as ESPANK_ERROR, starts the task all the same (_pre_task_privileged, mgr.c, 22.05.8). */
	return *verdict ? -1 : 0;
}
