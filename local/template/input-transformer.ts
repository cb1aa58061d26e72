import { isObject } from './assembly.ts'
import type { InputTransformer } from './plan-events.ts'

// How a rule's `InputTransformer` turns an event into its target's input.

type BusEvent = Readonly<Record<string, unknown>>

/** The variables that EventBridge makes by itself, and that are the same here. */
const WHOLE_EVENT = 'aws.events.event.json'

/**
 * A variable within a string of the template is text; anywhere else it is JSON. A value that the event lacks is null
 * there, and nothing within a string.
 */
export function transformed({ paths, template }: InputTransformer, event: BusEvent): string {
  let isInString = false
  return template.replaceAll(/\\.|"|<([\w.-]+)>/g, (found, name: string | undefined) => {
    if (found === '"') isInString = !isInString
    if (name === undefined) return found
    const value = name === WHOLE_EVENT ? event : valueAt(event, paths[name])
    if (!isInString) return JSON.stringify(value ?? null)
    const text =
      typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
    return JSON.stringify(text).slice(1, -1)
  })
}

/** `$.detail.queue`; the whole event for `$`. */
export const valueAt = (event: BusEvent, path: string | undefined): unknown =>
  path
    ?.split('.')
    .slice(1)
    .reduce<unknown>((value, field) => (isObject(value) ? value[field] : undefined), event)
