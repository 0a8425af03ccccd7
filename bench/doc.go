// Package bench holds the benchmarks of deciding. README.md has the figures,
// and how they were taken.
package bench
