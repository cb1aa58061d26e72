import { StartError } from '../start-error.ts'
import { isObject } from './assembly.ts'
import type { ResolvedResource } from './resources.ts'

/** A property that has to be there, as text. */
export function textOf(resource: ResolvedResource, name: string): string {
  const value = resource.property(name)
  if (typeof value === 'string') return value
  throw new StartError(
    `Cannot run the template because ${name} of ${resource.logicalId} is not text but ${JSON.stringify(value)}`,
  )
}

/** CloudFormation takes numbers as text as well. */
export function numberOf(resource: ResolvedResource, name: string): number | undefined {
  const value = resource.property(name)
  if (value === undefined) return undefined
  const number = Number(value)
  if (Number.isFinite(number)) return number
  throw new StartError(
    `Cannot run the template because ${name} of ${resource.logicalId} is not a number but ${JSON.stringify(value)}`,
  )
}

export function objectOf(
  resource: ResolvedResource,
  name: string,
): Readonly<Record<string, unknown>> {
  const value = resource.property(name)
  return isObject(value) ? value : {}
}

export function objectsOf(
  resource: ResolvedResource,
  name: string,
): readonly Readonly<Record<string, unknown>>[] {
  const value = resource.property(name)
  return Array.isArray(value) ? value.filter(isObject) : []
}
