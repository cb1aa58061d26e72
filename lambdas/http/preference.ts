/**
 * Whether a `Prefer` header asks for an answer before the work is done (RFC 7240). Names are not
 * case-sensitive, and an unknown preference is not an error.
 */
export const prefersAsync = (prefer = ''): boolean =>
  prefer
    .replaceAll(/"(?:[^"\\]|\\.)*"/g, '')
    .split(',')
    .some((preference) => nameOf(preference) === 'respond-async')

const nameOf = (preference: string): string =>
  (preference.split(/[=;]/)[0] as string).trim().toLowerCase()
