import { onTestFinished } from 'vitest'

/**
 * Sets variables of this process until the test has finished; those that are undefined are absent until then.
 * Files share a process here, so nothing may be left behind.
 */
export function setEnvironment(values: Readonly<Record<string, string | undefined>>): void {
  const before = Object.keys(values).map((name) => [name, process.env[name]] as const)
  for (const [name, value] of Object.entries(values)) set(name, value)
  onTestFinished(() => {
    for (const [name, value] of before) set(name, value)
  })
}

function set(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name]
  else process.env[name] = value
}

/**
 * What it returns puts all variables of this process back as they are now. `process.env` itself stays in its place: an
 * ordinary object instead would not be the environment of the process any more, for all files to come.
 */
export function keptEnvironment(): () => void {
  const before = { ...process.env }
  return () => {
    for (const name of Object.keys(process.env)) set(name, before[name])
    Object.assign(process.env, before)
  }
}
