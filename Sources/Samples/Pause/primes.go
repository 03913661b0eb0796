// Says which numbers are prime, as primes.c does, with the same manifest.
//
//	go build primes.go               # with cgo, because a program without a C library cannot pause
//
// os.Args and os.Getenv keep the values with which the process began, so the launch's are taken from C.
package main

/*
#cgo LDFLAGS: -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

static int prewarm_pause(int *argc, char ***argv) {
    int (*pause)(int *, char ***, char ***) = dlsym(RTLD_DEFAULT, "greenroom_prewarm_pause");
    return pause ? pause(argc, argv, NULL) : 0;
}
*/
import "C"

import (
	"fmt"
	"os"
	"strconv"
	"unsafe"
)

const limit = 20_000_000

func makeTable() []bool {
	isComposite := make([]bool, limit)
	isComposite[0], isComposite[1] = true, true
	for number := 2; number*number < limit; number++ {
		for multiple := number * number; !isComposite[number] && multiple < limit; multiple += number {
			isComposite[multiple] = true
		}
	}
	return isComposite
}

// Waits for the launch and returns its arguments.
func prewarmPause() []string {
	var argc C.int
	var argv **C.char
	if C.prewarm_pause(&argc, &argv) == 0 {
		return os.Args
	}
	words := make([]string, argc)
	for i, word := range unsafe.Slice(argv, argc) {
		words[i] = C.GoString(word)
	}
	return words
}

func main() {
	isComposite := makeTable()
	words := prewarmPause()
	name := C.CString("PRIME")
	defer C.free(unsafe.Pointer(name))
	yes := "prime"
	if value := C.getenv(name); value != nil {
		yes = C.GoString(value)
	}
	for _, word := range words[1:] {
		number, err := strconv.Atoi(word)
		if err != nil || number < 0 || number >= limit {
			fmt.Fprintf(os.Stderr, "%s: not in the table\n", word)
			os.Exit(1)
		}
		if isComposite[number] {
			fmt.Printf("%s: no\n", word)
		} else {
			fmt.Printf("%s: %s\n", word, yes)
		}
	}
}
