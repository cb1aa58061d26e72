// The oldest Node that our code runs on, and the sentence for an older one. Every version of Node may load this file,
// so it imports nothing.

type Version = `${number}.${number}`

/** A clear sentence, where an older Node would only say something like "is not a function". */
export function nodeTooOld(
  wanted: Version,
  what: string,
  running = process.versions.node,
): string | undefined {
  const [major = 0, minor = 0] = running.split('.').map(Number)
  const [majorMin = 0, minorMin = 0] = wanted.split('.').map(Number)
  if (major > majorMin || (major === majorMin && minor >= minorMin)) return undefined
  return (
    `Cannot go on because ${what} needs Node ${wanted} or newer, and this is v${running}; ` +
    'install a newer one from https://nodejs.org, switch to it with your version manager, or put it into your ' +
    'project: npm install --save-dev node@24'
  )
}

export function needNode(wanted: Version, what: string): void {
  const tooOld = nodeTooOld(wanted, what)
  if (tooOld !== undefined) throw new Error(tooOld)
}

/** For `process.getBuiltinModule`; the oldest that any entry but the client runs on. */
export const NODE_OLDEST = '20.16'
