/**
 * Whether a `Prefer` header asks for an answer before the work is done (RFC 7240). Names are not
 * case-sensitive, and a preference that we do not know is nobody's mistake.
 */
export const prefersAsync = (prefer = ''): boolean =>
  prefer
    .replaceAll(/"(?:[^"\\]|\\.)*"/g, '')
    .split(',')
    .some((preference) => nameOf(preference) === 'respond-async')

const nameOf = (preference: string): string =>
  (preference.split(/[=;]/)[0] as string).trim().toLowerCase()
