import ArgumentParser
import GreenroomCommands

@main struct Program {
    static func main() { Greenroomctl.main() }
}
