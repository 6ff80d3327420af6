/*
 * A job's services made and removed in the fewest calls: each NIC is opened, its service made and read back, then
 * removed, and the NIC closed. For each number on standard input it does so many jobs, and writes the nanoseconds.
 *
 *   job LIBRARY NICS
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 64, RESTRICTED = 15, UID = 1, TXQ = 1 };

struct desc { /* struct cxi_svc_desc */
	uint8_t flags, vnis;
	uint16_t vni[4];
	uint8_t tc[5], pad;
	struct { uint32_t id, type; } member[2];
	struct { uint16_t max, reserved; } limit[8];
	uint32_t id;
};

static int (*open_device)(uint32_t, void **);
static void (*close_device)(void *);
static int (*alloc_svc)(void *, const struct desc *, void *);
static int (*get_svc)(void *, unsigned, struct desc *);
static int (*destroy_svc)(void *, unsigned);

static void need(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "job: %s failed\n", what);
	exit(1);
}

static void job(int nics)
{
	struct desc want = {.flags = RESTRICTED, .vnis = 1, .vni = {4034}, .tc = {0, 1}, .member = {{1000, UID}, {0, UID}}}, have;
	void *device[MOST];
	int id[MOST];
	uint8_t fail[20];

	want.limit[TXQ].max = 16;
	want.limit[TXQ].reserved = 8;
	for (int i = 0; i < nics; i++) {
		need(open_device(i, &device[i]) == 0, "open");
		id[i] = alloc_svc(device[i], &want, fail);
		need(id[i] > 0, "alloc");
		need(get_svc(device[i], id[i], &have) == 0 && have.vni[0] == want.vni[0], "get");
	}
	for (int i = 0; i < nics; i++) {
		need(destroy_svc(device[i], id[i]) == 0, "destroy");
		close_device(device[i]);
	}
}

int main(int argc, char **argv)
{
	void *library;
	int nics, jobs;

	need(argc == 3, "usage: job LIBRARY NICS");
	nics = atoi(argv[2]);
	need(nics > 0 && nics <= MOST, "the number of NICs");
	library = dlopen(argv[1], RTLD_NOW);
	need(library != NULL, "dlopen");
	open_device = dlsym(library, "cxil_open_device");
	close_device = dlsym(library, "cxil_close_device");
	alloc_svc = dlsym(library, "cxil_alloc_svc");
	get_svc = dlsym(library, "cxil_get_svc");
	destroy_svc = dlsym(library, "cxil_destroy_svc");
	need(open_device && close_device && alloc_svc && get_svc && destroy_svc, "dlsym");
	while (scanf("%d", &jobs) == 1) {
		struct timespec from, to;

		clock_gettime(CLOCK_MONOTONIC, &from);
		for (int i = 0; i < jobs; i++)
			job(nics);
		clock_gettime(CLOCK_MONOTONIC, &to);
		printf("%lld\n", (to.tv_sec - from.tv_sec) * 1000000000LL + to.tv_nsec - from.tv_nsec);
		fflush(stdout);
	}
	return 0;
}
