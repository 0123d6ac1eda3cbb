/**
 * Certificates, users and listeners of a cluster that was started with `--secure`. PEM only, which brokers, Java clients, librdkafka, Node, Deno and
 * Bun all read.
 *
 * @module
 */
import fs from "node:fs";
import path from "node:path";
import { bootstrapOf, clusterFiles, type ClusterLayout } from "./cluster_layout.ts";
import { LauncherError } from "./launcher_error.ts";
import { findExecutable, runProgram } from "./processes.ts";
import { type Properties, propertiesText } from "./properties.ts";

/** Users of the SASL listeners, with their passwords. `admin` is a super user, as is everybody without a name (PLAINTEXT and SSL). */
export const users: Readonly<Record<string, string>> = { alice: "alice-secret", admin: "admin-secret" };

const scramMechanisms = ["SCRAM-SHA-256", "SCRAM-SHA-512"] as const;

const loginModules = {
  "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
  "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
  "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
  "OAUTHBEARER": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
} as const;

/** What a node's properties say about TLS, SASL and permissions. `folder` holds the certificates. */
export function securityProperties(folder: string): Properties {
  const properties: Record<string, string | number | boolean> = {
    "ssl.keystore.type": "PEM",
    "ssl.keystore.location": path.join(folder, "server.store.pem"),
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": path.join(folder, "ca.pem"),
    "ssl.client.auth": "none",
    "listener.name.mtls.ssl.client.auth": "required",
    // CN=client becomes User:client.
    "ssl.principal.mapping.rules": "RULE:^CN=([^,]+).*$/$1/,DEFAULT",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": true,
    "super.users": "User:ANONYMOUS;User:admin",
  };
  const plainUsers = Object.entries(users).map(([name, password]) => ` user_${name}="${password}"`).join("");
  for (const listener of ["sasl_plaintext", "sasl_ssl"]) {
    const prefix = `listener.name.${listener}`;
    properties[`${prefix}.sasl.enabled.mechanisms`] = Object.keys(loginModules).join(",");
    for (const [mechanism, module] of Object.entries(loginModules)) {
      properties[`${prefix}.${mechanism.toLowerCase()}.sasl.jaas.config`] = `${module} required${
        mechanism === "PLAIN" ? plainUsers : ""
      };`;
    }
  }
  return properties;
}

/** Arguments of `StorageTool format` that make the users known to SCRAM. */
export function scramArguments(): string[] {
  return Object.entries(users).flatMap(([name, password]) =>
    scramMechanisms.flatMap((mechanism) => ["--add-scram", `${mechanism}=[name=${name},password=${password}]`])
  );
}

/** Writes `ca`, `server` and `client` keys and certificates into `folder` with openssl. */
export async function writeCertificates(folder: string): Promise<void> {
  const program = findExecutable("openssl");
  if (program === undefined) {
    throw new LauncherError("`openssl` was not found in PATH; --secure makes its certificates with it.");
  }
  const openssl = async (...args: string[]): Promise<void> => {
    const { code, stderr } = await runProgram(program, args, { cwd: folder });
    if (code !== 0) throw new LauncherError(`openssl ${args.join(" ")} failed with code ${code}:\n${stderr}`);
  };
  fs.mkdirSync(folder, { recursive: true });
  const newKey = ["-newkey", "rsa:2048", "-nodes"];
  const valid = ["-days", "3650"];
  await openssl(
    ...["req", "-x509", ...newKey, ...valid, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=test-ca"],
    ...["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign"],
  );
  for (const [name, usage] of [["server", "serverAuth,clientAuth"], ["client", "clientAuth"]] as const) {
    fs.writeFileSync(
      path.join(folder, `${name}.ext`),
      "basicConstraints=CA:FALSE\nkeyUsage=digitalSignature,keyEncipherment\n" +
        `extendedKeyUsage=${usage}\nsubjectAltName=DNS:localhost,IP:127.0.0.1\n`,
    );
    await openssl("req", ...newKey, "-keyout", `${name}.key`, "-out", `${name}.csr`, "-subj", `/CN=${name}`);
    await openssl(
      ...["x509", "-req", ...valid, "-in", `${name}.csr`, "-out", `${name}.pem`, "-extfile", `${name}.ext`],
      ...["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"],
    );
    // Kafka's PEM store is one file: the key (PKCS#8, not encrypted), then the certificate.
    const parts = [`${name}.key`, `${name}.pem`].map((file) => fs.readFileSync(path.join(folder, file), "utf8"));
    fs.writeFileSync(path.join(folder, `${name}.store.pem`), parts.join(""));
  }
}

/** Writes `client-….properties` for the Java tools into the cluster's directory, one for each way in. */
export function writeClientProperties(directory: string, layout: ClusterLayout): void {
  const folder = clusterFiles.certificates(directory);
  for (const [name, properties] of Object.entries(clientProperties(folder, layout))) {
    fs.writeFileSync(path.join(directory, `client-${name}.properties`), propertiesText(properties));
  }
}

/** What a Java client needs for each way in: `ssl`, `mtls`, `sasl_ssl-scram-sha-512`, … as user alice. */
export function clientProperties(folder: string, layout: ClusterLayout): Readonly<Record<string, Properties>> {
  const trust = { "ssl.truststore.type": "PEM", "ssl.truststore.location": path.join(folder, "ca.pem") };
  const ways: Record<string, Properties> = {
    ssl: { "bootstrap.servers": bootstrapOf(layout.nodes, "SSL"), "security.protocol": "SSL", ...trust },
    mtls: {
      "bootstrap.servers": bootstrapOf(layout.nodes, "MTLS"),
      "security.protocol": "SSL",
      ...trust,
      "ssl.keystore.type": "PEM",
      "ssl.keystore.location": path.join(folder, "client.store.pem"),
    },
  };
  for (const listener of ["SASL_PLAINTEXT", "SASL_SSL"] as const) {
    for (const [mechanism, module] of Object.entries(loginModules)) {
      const login = mechanism === "OAUTHBEARER"
        ? 'unsecuredLoginStringClaim_sub="alice"'
        : `username="alice" password="${users["alice"]}"`;
      ways[`${listener}-${mechanism}`.toLowerCase()] = {
        "bootstrap.servers": bootstrapOf(layout.nodes, listener),
        "security.protocol": listener,
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": `${module} required ${login};`,
        ...(listener === "SASL_SSL" ? trust : {}),
      };
    }
  }
  return ways;
}
