// PushPop's own CDK app, with settings from the context. Those that decide who may call are watched: a deployment that
// forgets one lets others in, or keeps everybody out.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Annotations, App, CfnOutput, type Stack } from 'aws-cdk-lib/core'
import cdkJson from '../cdk.json' with { type: 'json' }
import type { Authorisation } from './constructs/http-api.ts'
import { PushPopStack } from './pushpop-stack.ts'
import { settingsOf } from './settings.ts'

type AppOptions = {
  readonly outdir?: string
  readonly context?: Readonly<Record<string, unknown>>
  /** Whether to check against CloudFormation's schemas, which takes a second. Default: true. */
  readonly checked?: boolean
}

/** The app as `cdk synth` sees it, also where nothing but this process has read cdk.json. */
export function pushPopApp({ outdir, context, checked = true }: AppOptions = {}): App {
  const app = new App({
    ...(outdir !== undefined && { outdir }),
    context: {
      ...cdkJson.context,
      // The CLI sets it by itself. Local runners find the functions' bundles by it.
      'aws:cdk:enable-asset-metadata': true,
      ...context,
    },
    analyticsReporting: cdkJson.versionReporting,
    builtinCloudFormationValidation: checked,
  })
  const { stackName, ...props } = settingsOf(app.node)
  const stack = new PushPopStack(app, stackName, props)
  warnOfUnkept(stack, cdkJson.context)
  const { authorisation = { kind: 'iam' }, corsOrigins = [] } = props.service
  sayWhoMayCall(stack, authorisation, corsOrigins)
  return app
}

const names = ['auth', 'issuer', 'audience', 'corsOrigins'] as const
const OUTPUT = 'WhoMayCall'

/** Warns of settings that only this command has: the next `cdk deploy` goes back to what cdk.json says. */
function warnOfUnkept(stack: Stack, kept: Readonly<Record<string, unknown>>): void {
  for (const name of names) {
    const value: unknown = stack.node.tryGetContext(name)
    if (value === undefined || value === '' || String(value) === String(kept[name])) continue
    Annotations.of(stack).addWarningV2(
      `@pushpop:${name}-not-kept`,
      `"${name}" decides who may call, and comes from the command line: a deployment without it would change ` +
        'that without a word. Write it under "context" in cdk.json.',
    )
  }
}

/** Says who may call among the stack's outputs, and warns where the last synth in this folder said otherwise. */
function sayWhoMayCall(
  stack: Stack,
  authorisation: Authorisation,
  corsOrigins: readonly string[],
): void {
  const value = inWords(authorisation, corsOrigins)
  new CfnOutput(stack, OUTPUT, { value })
  const before = lastSynth(stack)
  if (before === undefined || before === value) return
  Annotations.of(stack).addWarningV2(
    '@pushpop:who-may-call',
    `Who may call changes: the last synth here said "${before}", and this one says "${value}". If you did not ` +
      'mean that, a setting is missing (docs/configuration.md).',
  )
}

function inWords(authorisation: Authorisation, corsOrigins: readonly string[]): string {
  const { kind } = authorisation
  const callers =
    kind === 'jwt' ? `jwt of ${authorisation.issuer} for ${authorisation.audience}` : kind
  return [callers, ...corsOrigins.map((origin) => `pages of ${origin}`)].join(', ')
}

function lastSynth(stack: Stack): string | undefined {
  const app = App.of(stack) as App
  try {
    const file = join(app.outdir, stack.templateFile)
    const template = JSON.parse(readFileSync(file, 'utf8')) as {
      readonly Outputs?: Readonly<Record<string, { readonly Value?: string }>>
    }
    return template.Outputs?.[OUTPUT]?.Value
  } catch {
    // Nobody has run a synth here, or only one of another app.
    return undefined
  }
}
