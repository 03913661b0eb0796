import GreenroomCommands

@main struct Program {
    static func main() { Greenroomctl.start() }
}
