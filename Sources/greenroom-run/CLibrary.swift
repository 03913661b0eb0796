import Glibc

// The variadic functions and macros that Swift's own module of the C library adds to the headers.

var environ: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> { unsafe gr_run_environ() }

var errno: CInt { unsafe __errno_location().pointee }

func fcntl(_ descriptor: CInt, _ command: CInt) -> CInt {
    gr_run_fcntl(descriptor, command)
}

func open(_ path: UnsafePointer<CChar>, _ flags: CInt) -> CInt { unsafe gr_run_open(path, flags) }

let S_IFMT: mode_t = 0o170000
let S_IFIFO: mode_t = 0o010000
let S_IFSOCK: mode_t = 0o140000
let S_IFLNK: mode_t = 0o120000
let SIG_DFL: (@convention(c) (CInt) -> Void)? = nil
