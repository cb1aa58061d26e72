import type { LocalStack } from '../start-local-stack.ts'
import type { Paint } from './paint.ts'
import type { Typed } from './start-options.ts'

type BannerSettings = Pick<LocalStack, 'url' | 'plan'> & {
  readonly seconds: number
  readonly typed: Typed
  /** As you would type it; absent if the data is not kept. */
  readonly directory?: string | undefined
}

/** The address, lines to paste, and where the data is; the README has the rest. */
export function banner(
  { url, plan, seconds, typed, directory }: BannerSettings,
  paint: Paint,
): string {
  const lines = [
    `${paint('bold', `PushPop is at ${url}`)}  ${paint('dim', `(started in ${seconds.toFixed(1)} s)`)}`,
    '',
    ...tryLines(url, plan),
    '',
    directory === undefined
      ? 'Data is forgotten at the end.'
      : `Data is kept in ${directory}; ${typed} --memory forgets it.`,
    ...plan.leftOut,
    'Ctrl-C ends it.',
  ]
  return `${lines.join('\n')}\n`
}

/** A push, a look and a pop; for another app's API, its routes. */
function tryLines(url: string, { api }: LocalStack['plan']): readonly string[] {
  const keys = api?.routes.map(({ key }) => key) ?? []
  if (!keys.includes('POST /queue/{id}/push')) return keys.map((key) => `  ${key}`)
  return [
    `  curl -X POST ${url}/queue/orders/push -H 'content-type: application/json' -d '{"item":{"order":17}}'`,
    `  curl ${url}/queue/orders`,
    `  curl -X POST ${url}/queue/orders/pop`,
  ]
}
