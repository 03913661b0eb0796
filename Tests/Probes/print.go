package main

// #include <stdlib.h>
import "C"
import (
	"fmt"
	"os"
)

func main() {
	_ = C.abs(-1)
	fmt.Println(os.Args, os.Getenv("A"))
}
