import { Annotations, Match, Template } from 'aws-cdk-lib/assertions'
import { App, Stack } from 'aws-cdk-lib/core'
import { PushPop } from '../../lib/constructs/push-pop.ts'
import type { PushPopProps } from '../../lib/constructs/service-props.ts'
import { pushPopApp } from '../../lib/pushpop-app.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** Where the bundles do not matter, they are not made. */
export const withoutBundles = { 'aws:cdk:bundling-stacks': [] }

export type Resource = {
  readonly Type: string
  // biome-ignore lint/suspicious/noExplicitAny: a template is whatever CloudFormation takes.
  readonly Properties: any
  readonly DeletionPolicy?: string
  readonly UpdateReplacePolicy?: string
}

export type Resources = Readonly<Record<string, Resource>>

export type Synthesised = {
  readonly app: App
  readonly stack: Stack
  readonly template: Template
  readonly resources: Resources
  readonly warnings: readonly string[]
  ofType(type: string): [id: string, resource: Resource][]
}

/** The stack under these settings, as `cdk synth -c name=value` would make it. */
export function synthesised(context: Readonly<Record<string, string>> = {}): Synthesised {
  const app = pushPopApp({
    outdir: temporaryFolder(),
    context: { ...withoutBundles, ...context },
    // `synth.test.ts` does that once.
    checked: false,
  })
  return lookInto(app, app.node.findChild(stackNameOf(context)) as Stack)
}

const stackNameOf = ({ stage }: Readonly<Record<string, string>>): string =>
  stage === undefined ? 'PushPop' : `PushPop-${stage}`

/** Another app's stack, with the construct in it. */
export function lookInto(app: App, stack: Stack): Synthesised {
  const template = Template.fromStack(stack)
  const resources = template.toJSON().Resources as Record<string, Resource>
  return {
    app,
    stack,
    template,
    resources,
    warnings: Annotations.fromStack(stack)
      .findWarning('*', Match.anyValue())
      .map(({ entry }) => String(entry.data)),
    ofType: (type) => Object.entries(resources).filter(([, { Type }]) => Type === type),
  }
}

/** Another app's stack `Shop`, with services of these ids in it. */
export function aService(props: PushPopProps, ...ids: readonly string[]) {
  const app = new App({
    outdir: temporaryFolder(),
    context: withoutBundles,
    builtinCloudFormationValidation: false,
  })
  const stack = new Stack(app, 'Shop')
  const services = ids.map((id) => new PushPop(stack, id, props))
  return { app, stack, service: services[0] as PushPop, look: () => lookInto(app, stack) }
}

/** `at(resource, 'Properties.Policy.Statement')`; the resource itself for no path. */
export const at = (value: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>(
      (part, name) => (name === '' ? part : (part as Record<string, unknown> | undefined)?.[name]),
      value,
    )
