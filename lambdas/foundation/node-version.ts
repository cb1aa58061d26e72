type Version = `${number}.${number}`

export function isNode(wanted: Version): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const [majorMin = 0, minorMin = 0] = wanted.split('.').map(Number)
  return major > majorMin || (major === majorMin && minor >= minorMin)
}

export const nodeTooOld = (wanted: Version, what: string): string =>
  `Cannot go on because ${what} needs Node ${wanted} or newer, and this is ${process.version}`

/** A sentence instead of what an older Node makes of it: an obscure "is not a function". */
export function needNode(wanted: Version, what: string): void {
  if (!isNode(wanted)) throw new Error(nodeTooOld(wanted, what))
}

/** For `process.getBuiltinModule`; the oldest that any entry but the client runs on. */
export const NODE_OLDEST = '20.16'
