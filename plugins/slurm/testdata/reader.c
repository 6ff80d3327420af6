/* Feeds weft.c's reader: a length of four bytes in the machine's order, then an answer of so many bytes, again and again.
 * It prints what the answer did, and an empty line behind it. */
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

int main(void)
{
	uint32_t size;

	while (fread(&size, sizeof size, 1, stdin) == 1 && size < MAX_REPLY) {
		char *reply = malloc(size + 1); /* exactly: one byte too far is found */
		*verdict = *warnings = '\0';
		if (fread(reply, 1, size, stdin) != size)
			return 1;
		obey_all(NULL, reply, size);
		printf("warnings %zu\nverdict %s\n\n", strlen(warnings), *verdict ? verdict : "-");
		fflush(stdout);
		free(reply);
	}
	return 0;
}
