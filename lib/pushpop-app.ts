import { App } from 'aws-cdk-lib/core'
import cdkJson from '../cdk.json' with { type: 'json' }
import { PushPopStack } from './pushpop-stack.ts'
import { settingsOf } from './settings.ts'
import { sayWhoMayCall, warnOfUnkept } from './who-may-call.ts'

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
