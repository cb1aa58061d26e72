import { failed } from './failure.ts'

type Version = `${number}.${number}`

/** A sentence instead of what an older Node makes of it: an obscure "is not a function". */
export function needNode(wanted: Version, what: string): void {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const [majorMin = 0, minorMin = 0] = wanted.split('.').map(Number)
  if (major > majorMin || (major === majorMin && minor >= minorMin)) return
  throw failed(
    `Cannot go on because ${what} needs Node ${wanted} or newer, and this is ${process.version}`,
  )
}
