// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Hello",
    dependencies: [.package(name: "greenroom", path: "../greenroom")],
    targets: [
        .executableTarget(
            name: "Hello",
            dependencies: [.product(name: "ApplicationKit", package: "greenroom")])
    ]
)
