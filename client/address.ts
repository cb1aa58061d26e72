// To which addresses the client may send credentials.

/**
 * Whether this is certainly the same machine: localhost, 127.0.0.0/8 or ::1. Names such as `app.localhost` do not
 * count: browsers take them for this machine (RFC 6761), but Node asks a name server, which may return any address.
 * `URL` has already normalised `127.1`, `0x7f000001` and `LOCALHOST`.
 */
export const isLoopback = ({ hostname }: URL): boolean =>
  /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)

/** On plain http, everybody on the way can read a token, or send a signed request again. */
export const isSafeForCredentials = (url: URL): boolean =>
  url.protocol === 'https:' || isLoopback(url)

/** The client and the command line each add how to call without credentials. */
export const cannotSendCredentials = ({ protocol, host }: URL): string =>
  `Cannot send credentials to ${protocol}//${host} because it is not https, and everybody on the way could ` +
  'read them; give its https address'
