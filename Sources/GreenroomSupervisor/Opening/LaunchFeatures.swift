internal import GreenroomControl
internal import GreenroomAppChannel
internal import GreenroomManifest

/// Which launch options an app may be given: only those whose feature its manifest declares
/// (UIApplication.LaunchOptionsKey: "The system doesn't include a key unless your app supports the
/// corresponding feature").
enum LaunchFeatures {
    /// Refuses content that the app's manifest does not declare, and content that cannot be sent to
    /// the app.
    static func check(_ content: AppContent, _ app: InstalledApp) throws(ControlError) {
        if let key = missing(for: content, in: app.application) {
            throw .refused(
                code: "undeclared_feature",
                reason:
                    "\(app.identifier) does not support this; its manifest would need \(key) in "
                    + "[Application]")
        }
        let launch = AppLaunch(cookie: 0, content: content)
        guard (try? DaemonMessage.event(.launch(launch)).encoded()) != nil else {
            throw .refused(
                code: "too_large",
                reason: "that is more than 64 KiB, or it holds a NUL byte; pass a URL instead")
        }
    }

    /// The first key that the manifest lacks, as it would have to be written; nil if it lacks none.
    /// URLs are matched by `Handlers`; here they only need some scheme or type.
    static func missing(
        for content: AppContent, in application: AppManifest.Application
    ) -> String? {
        let wanted: [(isPresent: Bool, isDeclared: Bool, key: String)] = [
            (
                !content.urls.isEmpty,
                !application.urlSchemes.isEmpty || !application.documentTypes.isEmpty,
                "URLSchemes= or DocumentTypes="
            ),
            (
                content.quickAction != nil,
                content.quickAction.map { application.quickActions.contains($0.type) } ?? true,
                "QuickActions=\(content.quickAction?.type ?? "")"
            ),
            activities(content, application),
            feature(content.remoteNotification != nil, .remoteNotifications, application),
            feature(content.localNotification != nil, .localNotifications, application),
            feature(content.isForLocation, .locationUpdates, application),
            feature(!content.newsstandDownloads.isEmpty, .newsstandDownloads, application),
            feature(!content.bluetoothCentrals.isEmpty, .bluetoothCentrals, application),
            feature(!content.bluetoothPeripherals.isEmpty, .bluetoothPeripherals, application),
            feature(content.cloudKitShareMetadata != nil, .cloudKitShares, application),
            feature(
                content.urls.contains { $0.eventAttribution != nil }, .eventAttribution,
                application),
        ]
        return wanted.first { $0.isPresent && !$0.isDeclared }?.key
    }

    private static func activities(
        _ content: AppContent, _ application: AppManifest.Application
    ) -> (Bool, Bool, String) {
        let types =
            content.userActivities.map(\.type)
            + [content.handoffUserActivityType].compactMap(\.self)
        let unknown = types.first { !application.userActivityTypes.contains($0) }
        return (unknown != nil, false, "UserActivityTypes=\(unknown ?? "")")
    }

    private static func feature(
        _ isPresent: Bool, _ feature: AppManifest.Feature, _ application: AppManifest.Application
    ) -> (Bool, Bool, String) {
        (isPresent, application.features.contains(feature), "\(feature.rawValue)=yes")
    }
}
