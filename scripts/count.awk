# Reads the standard output of `go test -v` of many packages: shows a package that failed in full, of the others the result and what was skipped and why,
# and counts at the end. Top-level tests count, one that also runs under the race detector twice; a package that does not build, or dies without naming a test, counts as one that failed.

/^=== (RUN|PAUSE|CONT|NAME)/ { next }
/^--- PASS/                  { passed++ }
/^--- FAIL/                  { failed++; named = 1 }
/^--- SKIP/                  { skipped++; skip = skip "  skipped: " $3 " (" why ")\n" }

{ held = held $0 "\n"; why = $0; gsub(/^[ \t]+/, "", why) }

/^ok  \t/ || /^\?   \t/ || /^\t.*coverage: / {
  print
  printf "%s", skip
  fflush()
  held = skip = ""; named = 0
}

/^FAIL\t/ {
  if (!named) failed++
  printf "%s", held
  fflush()
  held = skip = ""; named = 0
}

END {
  printf "%s", held
  if (passed + failed == 0) failed++
  if (skipped) print skipped " skipped, named above"
  printf "%d passed, %d failed\n", passed, failed
  exit (failed > 0)
}
