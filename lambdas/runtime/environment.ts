import type { InvocationContext } from './invocation.ts'
import { createLog, type Level, type Log, levels } from './log.ts'
import { variables } from './variables.ts'

/** What the template gives a function: `process.env`, except in tests. */
export type Environment = Readonly<Record<string, string | undefined>>

export function required(environment: Environment, name: string): string {
  const value = environment[name]
  if (value) return value
  throw new Error(`Cannot start because the environment variable ${name} is not set`)
}

/** A positive integer. An empty variable counts as one that is not set. */
export function numberIn(environment: Environment, name: string): number | undefined {
  const value = environment[name]
  if (!value) return undefined
  const number = Number(value)
  if (Number.isInteger(number) && number > 0) return number
  throw new Error(`Cannot start because ${name} must be a positive integer, not "${value}"`)
}

export function logOf(environment: Environment, write?: (line: string) => void): Log {
  const wanted = environment[variables.logLevel]?.toLowerCase()
  const level: Level = levels.find((known) => known === wanted) ?? 'info'
  const service = serviceIn(environment)
  return createLog({ level, service, ...(write !== undefined && { write }) })
}

/** The log of an invocation whose context may say what it wants to see. */
export function logsOf(environment: Environment): (context: InvocationContext) => Log {
  const usual = logOf(environment)
  const service = serviceIn(environment)
  const ofTests = new Map(
    levels.map((level) => [level, createLog({ level, service, metrics: 'with-their-line' })]),
  )
  return ({ logLevel }) => (logLevel === undefined ? usual : (ofTests.get(logLevel) ?? usual))
}

const serviceIn = (environment: Environment): string => environment[variables.service] || 'PushPop'
