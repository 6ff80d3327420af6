package sdk

// What a daemon and a plugin agree on before they speak; docs/plugins.md tells it to authors in other languages.
const (
	// CookieKey and CookieValue are in a plugin's environment, so that a program run by hand can say what it is. They protect nothing.
	CookieKey   = "WEFT_PLUGIN"
	CookieValue = "4c8c6c1e-weft-plugin"
	// Protocol is go-plugin's version of the application; the wire services have versions of their own in their names.
	Protocol = 1
	// LevelKey names the variable with the least level that the daemon logs: debug, info, warn or error.
	LevelKey = "WEFT_PLUGIN_LOG"
	// WithinKey is in the metadata of calls that change something: the milliseconds within which the handler must return. The call's own deadline is a
	// little later; a handler that is not back by then costs its process its life.
	WithinKey = "weft-within-ms"
)
