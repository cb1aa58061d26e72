import { type Configuration, configurationNames } from '../../engine/core/configuration.ts'
import { snakeCase, snakeCased } from '../../foundation/shared/wire-names.ts'
import { type Answer, ok } from '../answer.ts'

/** Every setting, `null` where there is none: what a GET gives, a PUT takes back. */
export const configurationBody = (configuration: Configuration) =>
  Object.fromEntries(
    configurationNames.map((name) => [snakeCase(name), snakeCased(configuration[name] ?? null)]),
  )

export const configurationAnswer = (configuration: Configuration): Answer =>
  ok(configurationBody(configuration), { etag: `"${configuration.revision}"` })
