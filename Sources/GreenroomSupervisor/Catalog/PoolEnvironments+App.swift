internal import GreenroomLifecycle

extension PoolEnvironments {
    mutating func key(for environment: PoolEnvironment, of app: InstalledApp) -> EnvironmentKey? {
        key(
            for: environment, app.poolOwner,
            own: (app.environment.pool, app.description.environmentKey))
    }
}
