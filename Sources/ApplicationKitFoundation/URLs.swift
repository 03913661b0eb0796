/// URLs as Foundation's `URL`, for apps that use Foundation or FoundationEssentials anyway.
/// ApplicationKit itself has URLs as text, so that an app can do without Foundation.
@_exported public import ApplicationKit
public import FoundationEssentials

extension Application.LaunchOptionsKey where Value == URL {
    /// The URL to open; the first if there are several. Also nil if Foundation does not accept the
    /// text as a URL: read ``ApplicationKit/Application/LaunchOptionsKey/urlText`` then.
    public static var url: Self { Self(.urlText) { URL(string: $0) } }
}

extension Application {
    /// Opens a URL in the app that handles it; UIKit's
    /// `UIApplication.open(_:options:completionHandler:)`.
    /// - Throws: `RequestError`, for example if no app handles the URL.
    public func open(_ url: URL) async throws(RequestError) { try await open(url.absoluteString) }
}

extension URL {
    /// The URL to open, or nil if Foundation does not accept the text as a URL.
    public init?(_ context: OpenURLContext) { self.init(string: context.url) }
}

/// An app delegate that gets URLs as Foundation's `URL`.
///
/// Source: <https://developer.apple.com/documentation/uikit/uiapplicationdelegate>
@MainActor public protocol URLApplicationDelegate: ApplicationDelegate {
    /// Opens a URL; UIKit's `application(_:open:options:)`.
    /// - Returns: whether the app opened it.
    func application(
        _ application: Application, open url: URL, options: OpenURLContext.Options
    ) -> Bool
}

extension URLApplicationDelegate {
    /// Calls the method that has a `URL`. Text that Foundation does not accept as a URL counts as
    /// not opened.
    public func application(
        _ application: Application, open url: String, options: OpenURLContext.Options
    ) -> Bool {
        guard let url = URL(string: url) else { return false }
        return self.application(application, open: url, options: options)
    }
}
