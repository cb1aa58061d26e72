// The CDK app: what `cdk synth` and `cdk deploy` run (see cdk.json).

import { pushPopApp } from '../lib/pushpop-app.ts'
import { SettingError } from '../lib/settings.ts'

try {
  pushPopApp().synth()
} catch (error) {
  if (!(error instanceof SettingError)) throw error
  console.error(error.message)
  process.exitCode = 1
}
