/*
 * A SPANK plugin of Slurm. In slurmstepd, as root and before any task of a step starts, it asks this node's Weft agent
 * for the network of the job and sets each task's variables. In srun, sbatch, salloc and slurmd it does nothing.
 *
 *   cc -O2 -Wall -shared -fPIC -o weft.so weft.c      with the slurm/spank.h of the Slurm that runs
 *
 * A line of plugstack.conf loads it. Each argument may be left out; these are the defaults:
 *
 *   required /usr/lib64/weft/weft.so scheduler=slurm run=/run/weft/agent hook=/usr/bin/weft-hook timeout=8
 *
 * It drains no node. A step that may not start fails in slurm_spank_task_init_privileged, which ends it with a message
 * in its output; a failure of an earlier callback would drain the node of a batch script.
 *
 * The agent answers with lines: `export NAME=VALUE`, `unset NAME`, `print TEXT` and `fail TEXT`. Where it does not,
 * weft-hook asks instead: it waits for an agent that restarts, and obeys `weft agent bypass`.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
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

#define SAFE "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

enum { MAX_REPLY = 64 << 10, MAX_TEXT = 1024, ITEMS = 4, FACTS = ITEMS + 1 };

static const char *scheduler = "slurm", *run_dir = "/run/weft/agent", *hook = "/usr/bin/weft-hook";
static int timeout_s = 8;
static char verdict[MAX_TEXT];	   /* why no task may start; empty: they may */
static char warnings[4 * MAX_TEXT]; /* for the first task to print */

/* What slurmstepd knows of the step, from the credential that slurmctld signed. All are numbers: nothing is quoted. */
struct fact {
	const char *name;
	uint32_t value;
};

static void fail(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(verdict, sizeof verdict, format, args);
	va_end(args);
}

static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_BOOTTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Reads size bytes, or what comes before the other side ends. -1: it failed, or it is later than until. */
static ssize_t read_all(int fd, char *to, size_t size, int64_t until)
{
	size_t have = 0;
	while (have < size) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t left = until - now_ms();
		int n = left > 0 ? poll(&p, 1, (int)left) : 0;
		if (n == 0 || (n < 0 && errno != EINTR))
			return -1;
		ssize_t got = n > 0 ? read(fd, to + have, size - have) : 0;
		if (n > 0 && got == 0)
			break;
		if (got < 0 && errno != EINTR && errno != EAGAIN)
			return -1;
		have += got > 0 ? got : 0;
	}
	return have;
}

/* Asks the agent over root's socket. -1: it does not answer in lines. */
static ssize_t ask_agent(const struct fact *facts, char *reply, int64_t until)
{
	char out[1024], *text = out + 4;
	size_t room = sizeof out - 4, len;
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct ucred peer;
	socklen_t peer_size = sizeof peer;
	ssize_t n = -1;

	len = snprintf(text, room, "{\"version\":1,\"verb\":\"hook\",\"lines\":true,\"began\":%lld000000,\"until\":%lld000000,"
		"\"body\":{\"Scheduler\":\"%s\",\"Phase\":\"step\",\"Env\":{", (long long)now_ms(), (long long)until, scheduler);
	for (int i = 0; i < FACTS && len < room; i++)
		len += snprintf(text + len, room - len, "%s\"%s\":\"%u\"", i ? "," : "", facts[i].name, facts[i].value);
	if (len < room)
		len += snprintf(text + len, room - len, "}}}");
	if (len >= room || snprintf(at.sun_path, sizeof at.sun_path, "%s/root.sock", run_dir) >= (int)sizeof at.sun_path)
		return -1;
	uint32_t size = htonl(len);
	memcpy(out, &size, 4);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0 &&
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) == 0 && peer.uid == 0 &&
	    send(fd, out, 4 + len, MSG_NOSIGNAL) == (ssize_t)(4 + len) &&
	    read_all(fd, (char *)&size, 4, until) == 4 && (size = ntohl(size)) > 0 && size < MAX_REPLY &&
	    read_all(fd, reply, size, until) == (ssize_t)size && reply[0] != '{')
		n = size;
	close(fd);
	return n;
}

/* Has weft-hook ask. It prints the same lines, or none while Weft is bypassed and no agent has ever run. */
static ssize_t ask_hook(const struct fact *facts, char *reply, int64_t until)
{
	char *argv[] = { (char *)hook, "--dir", (char *)run_dir, "--say", "fail ", (char *)scheduler, "step", NULL };
	char env[FACTS][64], *envp[FACTS + 1] = { NULL };
	int out[2], status = -1; /* stays so where the end of weft-hook cannot be seen */
	ssize_t n = -1;
	pid_t child;
	posix_spawn_file_actions_t files;

	for (int i = 0; i < FACTS; i++) {
		snprintf(env[i], sizeof env[i], "%s=%u", facts[i].name, facts[i].value);
		envp[i] = env[i];
	}
	if (pipe2(out, O_CLOEXEC) != 0)
		return -1;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
	int bad = posix_spawn(&child, hook, &files, NULL, argv, envp);
	posix_spawn_file_actions_destroy(&files);
	close(out[1]);
	if (bad) {
		fail("%s: %s", hook, strerror(bad));
	} else {
		n = read_all(out[0], reply, MAX_REPLY - 1, until);
		if (n < 0)
			kill(child, SIGKILL);
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		if (n >= 0 && status != 0 && (n < 5 || strncmp(reply, "fail ", 5) != 0))
			fail("%s: it ended with status %d", hook, status);
	}
	close(out[0]);
	return n;
}

/* Obeys one line. 0: it is understood. */
static int obey(spank_t spank, char *line)
{
	size_t have = strlen(warnings);
	char *value;

	if (strncmp(line, "fail ", 5) == 0) {
		fail("%s", line[5] ? line + 5 : "the agent refuses it");
	} else if (strncmp(line, "print ", 6) == 0) {
		snprintf(warnings + have, sizeof warnings - have, "%s\n", line + 6);
	} else if (strncmp(line, "unset ", 6) == 0) {
		spank_unsetenv(spank, line + 6); /* fails where the variable is not set */
	} else if (strncmp(line, "export ", 7) == 0 && (value = strchr(line + 7, '=')) && value > line + 7) {
		*value++ = '\0';
		return spank_setenv(spank, line + 7, value, 1) == ESPANK_SUCCESS ? 0 : -1;
	} else {
		return -1;
	}
	return 0;
}

/* Obeys an answer of size bytes. Its buffer has room for one more. */
static void obey_all(spank_t spank, char *reply, size_t size)
{
	reply[size] = '\0';
	if (size == 0 || strlen(reply) != size || reply[size - 1] != '\n')
		return fail("the agent's answer is not whole");
	for (char *line = reply, *end; *line && !*verdict; line = end + 1) {
		end = strchr(line, '\n');
		*end = '\0';
		if (obey(spank, line) != 0)
			fail("a line of the agent's answer is not understood: build weft.so of the agent's release");
	}
}

static void ask(spank_t spank)
{
	static char reply[MAX_REPLY];
	static const spank_item_t items[ITEMS] = { S_JOB_ID, S_JOB_STEPID, S_JOB_NODEID, S_JOB_UID };
	struct fact facts[FACTS] = { { "SLURM_JOB_ID", 0 }, { "SLURM_STEP_ID", 0 }, { "SLURM_NODEID", 0 }, { "SLURM_JOB_UID", 0 },
				     { "WEFT_WARNED", 0 } };
	int64_t until = now_ms() + timeout_s * 1000;
	char bypass[256], warned[16];

	for (int i = 0; i < ITEMS; i++)
		if (spank_get_item(spank, items[i], &facts[i].value) != ESPANK_SUCCESS)
			return fail("Slurm does not say which step this is");
	if (spank_getenv(spank, "WEFT_WARNED", warned, sizeof warned) == ESPANK_SUCCESS)
		facts[ITEMS].value = strtoul(warned, NULL, 10); /* the user's word: he may leave out his own warnings */
	snprintf(bypass, sizeof bypass, "%s/bypass", run_dir);
	ssize_t n = access(bypass, F_OK) == 0 ? -1 : ask_agent(facts, reply, until);
	if (n < 0 && now_ms() < until)
		n = ask_hook(facts, reply, until);
	if (*verdict)
		return;
	if (n < 0)
		fail("no answer within %d s: see whether this node's agent is well", timeout_s);
	else if (n > 0)
		obey_all(spank, reply, n);
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
	if (!*verdict && spank_context() == S_CTX_REMOTE)
		ask(spank);
	return ESPANK_SUCCESS;
}

/* Runs once for each task, still as root, with the task's own standard error. */
int slurm_spank_task_init_privileged(spank_t spank, int count, char **args)
{
	int task = 0;
	(void)count, (void)args;
	if (spank_get_item(spank, S_TASK_ID, &task) != ESPANK_SUCCESS || task == 0) {
		if (*verdict)
			slurm_error("weft: %s", verdict);
		else if (*warnings)
			dprintf(STDERR_FILENO, "%s", warnings);
	}
	/* A result above 0, such as ESPANK_ERROR, starts the task all the same (_pre_task_privileged, mgr.c, 22.05.8). */
	return *verdict ? -1 : 0;
}
