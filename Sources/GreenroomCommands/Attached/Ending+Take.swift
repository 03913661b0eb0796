extension Ending {
    /// Ends this process if a signal ended the app; otherwise returns the exit code.
    func take(_ console: any Console) -> Int32 {
        switch self {
        case .status(let status): return status
        case .signal(let signal): Ending.die(by: signal)
        case .unseen:
            console.complain("the app has ended; its exit status is not known")
            return 1
        }
    }
}
