/* Feeds weft.c's reader: a length of four bytes in the machine's order, then an answer of so many bytes, again and again.
 * It prints what the answer did, and an empty line behind it. */
#define _GNU_SOURCE 1
#include <sanitizer/asan_interface.h>
#include <stdio.h>
#define dprintf(fd, format, text) printf("print " format, text)
#include "../spank/weft.c"

spank_err_t spank_setenv(spank_t spank, const char *name, const char *value, int overwrite)
{
	(void)spank, (void)overwrite;
	printf("set %zu %s %zu %s\n", strlen(name), name, strlen(value), value);
	return ESPANK_SUCCESS;
}

spank_err_t spank_unsetenv(spank_t spank, const char *name)
{
	(void)spank;
	printf("unset %s\n", name);
	return ESPANK_SUCCESS;
}

spank_context_t spank_context(void) { return S_CTX_REMOTE; }
spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...) { (void)spank, (void)item; return ESPANK_SUCCESS; }
spank_err_t spank_getenv(spank_t spank, const char *name, char *to, int size) { (void)spank, (void)name, (void)to, (void)size; return ESPANK_ERROR; }
void slurm_error(const char *format, ...) { (void)format; }

/* Once as the agent would send it: looked at twice, and left there. The second task is late. */
static void hear_twice(const char *answer, uint32_t size)
{
	static char frame[4 + MAX_REPLY];
	int ends[2];
	uint32_t length = htonl(size);

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		exit(2);
	memcpy(frame, &length, 4);
	memcpy(frame + 4, answer, size);
	if (write(ends[1], frame, 4 + size) != (ssize_t)(4 + size))
		exit(3);
	close(ends[1]);
	agent = ends[0];
	for (int i = 0; i < 2; i++) {
		until = i == 0 ? now_ms() + 60000 : 0;
		memset(reply, 'x', sizeof reply);
		ssize_t want = size > 0 && *answer != '{' ? (ssize_t)size : -1;
		if (hear_agent() != want || (want > 0 && memcmp(reply, answer, size) != 0))
			exit(4);
	}
	close(agent);
}

int main(void)
{
	static char answer[MAX_REPLY];
	uint32_t size;

	loud = 1;
	while (fread(&size, sizeof size, 1, stdin) == 1 && size < MAX_REPLY) {
		*verdict = '\0';
		if (fread(answer, 1, size, stdin) != size)
			return 1;
		hear_twice(answer, size);
		memcpy(reply, answer, size);
		replied = size;
		ASAN_POISON_MEMORY_REGION(reply + size + 1, sizeof reply - size - 1); /* one byte too far is found */
		if (size > 0)
			obey_all(NULL);
		ASAN_UNPOISON_MEMORY_REGION(reply, sizeof reply);
		printf("verdict %s\n\n", *verdict ? verdict : "-");
		fflush(stdout);
	}
	return 0;
}
