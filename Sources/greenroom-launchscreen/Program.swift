import GreenroomSession

/// Shows the launch screens of apps on a display.
@main struct Program {
    static func main() {
        SessionProgram.launchScreen.main {
            var presenter = try LaunchScreenPresenter($0)
            try presenter.run()
        }
    }
}
