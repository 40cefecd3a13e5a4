//! Formats of keys that their services mark: a fixed beginning, then characters of known kinds and
//! number.

/// A format of a kind of secret.
pub(super) struct SecretFormat {
    /// The kind, as it is shown.
    pub kind: &'static str,
    /// How the secret begins.
    pub begin: &'static str,
    /// A regular expression for the rest. Every repetition has a limit, or ends at a character that
    /// cannot stand in the beginning.
    pub rest: &'static str,
}

macro_rules! formats {
    ($($kind:literal: $($begin:literal $rest:literal),+;)+) => {
        &[$($(SecretFormat { kind: $kind, begin: $begin, rest: $rest }),+),+]
    };
}

/// The formats; of two that match at one place the longer match counts, then the first.
pub(super) const FORMATS: &[SecretFormat] = formats! {
    // Code hosts and registries.
    "github token": "ghp_" "[A-Za-z0-9]{36,251}", "gho_" "[A-Za-z0-9]{36,251}",
        "ghu_" "[A-Za-z0-9]{36,251}", "ghs_" "[A-Za-z0-9]{36,251}", "ghr_" "[A-Za-z0-9]{36,251}",
        "github_pat_" "[A-Za-z0-9]{22}_[A-Za-z0-9]{59}";
    "gitlab token": "glpat-" r"[A-Za-z0-9_-]{20,270}(?:\.[a-z0-9]{2}\.[a-z0-9]{9})?",
        "gldt-" "[A-Za-z0-9_-]{20,64}", "glrt-" r"[A-Za-z0-9_.-]{20,64}",
        "glptt-" "[a-f0-9]{40}", "glft-" "[A-Za-z0-9_-]{20,64}", "glsoat-" "[A-Za-z0-9_-]{20,64}",
        "glcbt-" "[A-Za-z0-9_-]{20,64}", "glimt-" "[A-Za-z0-9_-]{20,64}",
        "glagent-" "[A-Za-z0-9_-]{20,64}", "gloas-" "[a-f0-9]{64}",
        "GR1348941" "[A-Za-z0-9_-]{20}";
    "bitbucket token": "ATBB" "[A-Za-z0-9]{32}", "ATCTT3xFfG" r"[A-Za-z0-9_=+/.-]{40,250}";
    "atlassian token": "ATATT3xFfGF0" "[A-Za-z0-9_=-]{40,250}";
    "npm token": "npm_" "[A-Za-z0-9]{36}";
    "pypi token": "pypi-AgE" "[A-Za-z0-9_-]{50,400}";
    "rubygems token": "rubygems_" "[a-f0-9]{48}";
    "nuget key": "oy2" "[a-z0-9]{43}";
    "crates.io token": "cio" "[A-Za-z0-9]{32}";
    "docker token": "dckr_pat_" "[A-Za-z0-9_-]{27}", "dckr_oat_" "[A-Za-z0-9_-]{27,40}";
    "clojars token": "CLOJARS_" "[a-z0-9]{60}";
    "artifactory key": "AKCp" "[A-Za-z0-9]{60,80}";
    "sonarqube token": "squ_" "[a-f0-9]{40}", "sqp_" "[a-f0-9]{40}", "sqa_" "[a-f0-9]{40}";
    "sourcegraph token": "sgp_" "(?:[a-fA-F0-9]{16}_)?[a-fA-F0-9]{40}";
    "postman key": "PMAK-" "[a-f0-9]{24}-[a-f0-9]{34}";
    "snyk token": "snyk_uat." r"[a-z0-9]{8}\.[A-Za-z0-9_-]{20,200}";
    // Clouds and hosts.
    "aws access key": "AKIA" "[A-Z2-7]{16}", "ASIA" "[A-Z2-7]{16}", "ABIA" "[A-Z2-7]{16}",
        "ACCA" "[A-Z2-7]{16}";
    "aws bedrock key": "ABSK" "[A-Za-z0-9+/]{109,269}={0,2}";
    "google api key": "AIza" "[A-Za-z0-9_-]{35}";
    "google oauth secret": "GOCSPX-" "[A-Za-z0-9_-]{28}";
    "google oauth token": "ya29." "[A-Za-z0-9_-]{30,500}", "1//0" "[A-Za-z0-9_-]{40,200}";
    "alibaba access key": "LTAI" "[A-Za-z0-9]{16,20}";
    "tencent secret id": "AKID" "[A-Za-z0-9]{32}";
    "yandex key": "AQVN" "[A-Za-z0-9_-]{35,38}",
        "t1." "[A-Z0-9a-z_-]{40,90}={0,2}\\.[A-Za-z0-9_-]{86}={0,2}";
    "digitalocean token": "dop_v1_" "[a-f0-9]{64}", "doo_v1_" "[a-f0-9]{64}",
        "dor_v1_" "[a-f0-9]{64}";
    "heroku key": "HRKU-" "[A-Za-z0-9_-]{36,80}";
    "fly.io token": "fo1_" "[A-Za-z0-9_-]{43}", "fm1r_" "[A-Za-z0-9+/]{100,600}={0,3}",
        "fm2_" "[A-Za-z0-9+/]{100,600}={0,3}";
    "netlify token": "nfp_" "[A-Za-z0-9]{36}";
    "vercel token": "vercel_blob_rw_" "[A-Za-z0-9]{16}_[A-Za-z0-9]{30}";
    "cloudflare key": "v1.0-" "[a-f0-9]{24}-[a-f0-9]{146}", "0x4AAAAAA" "[A-Za-z0-9_-]{26}";
    "supabase key": "sbp_" "(?:oauth_)?[a-f0-9]{40}", "sb_secret_" "[A-Za-z0-9_-]{22,40}";
    "planetscale token": "pscale_tkn_" "[A-Za-z0-9_=.-]{32,64}",
        "pscale_pw_" "[A-Za-z0-9_=.-]{32,64}", "pscale_oauth_" "[A-Za-z0-9_=.-]{32,64}";
    "databricks token": "dapi" "[a-f0-9]{32}(?:-[0-9])?";
    "vault token": "hvs." "[A-Za-z0-9_-]{24,200}", "hvb." "[A-Za-z0-9_-]{130,300}",
        "hvr." "[A-Za-z0-9_-]{24,200}";
    "doppler token": "dp.pt." "[A-Za-z0-9]{40,44}",
        "dp.st." "(?:[a-z0-9_-]{2,35}\\.)?[A-Za-z0-9]{40,44}",
        "dp.ct." "[A-Za-z0-9]{40,44}", "dp.sa." "[A-Za-z0-9]{40,44}";
    "pulumi token": "pul-" "[a-f0-9]{40}";
    "tailscale key": "tskey-" "[a-z]{3,8}-[A-Za-z0-9]{8,40}-[A-Za-z0-9]{20,50}";
    "1password token": "ops_eyJ" "[A-Za-z0-9+/_-]{250,1500}={0,3}",
        "A3-"
        "[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}";
    "age key": "AGE-SECRET-KEY-1" "[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}";
    "scalingo token": "tk-us-" "[A-Za-z0-9_-]{48}";
    "prefect key": "pnu_" "[A-Za-z0-9]{36}", "pnb_" "[A-Za-z0-9]{36}";
    "infracost key": "ico-" "[A-Za-z0-9]{32}";
    "ubidots token": "BBFF-" "[A-Za-z0-9]{30}";
    // Models and their tools.
    "openai key": "sk-" "[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}", "sk-" "[A-Za-z0-9]{32,64}",
        "sk-proj-" "[A-Za-z0-9_-]{40,200}", "sk-svcacct-" "[A-Za-z0-9_-]{40,200}",
        "sk-admin-" "[A-Za-z0-9_-]{40,200}", "sk-None-" "[A-Za-z0-9_-]{40,200}";
    "anthropic key": "sk-ant-" "[a-z]{3,8}[0-9]{2}-[A-Za-z0-9_-]{40,140}";
    "openrouter key": "sk-or-v1-" "[a-f0-9]{64}";
    "langfuse key": "sk-lf-" "[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}";
    "langsmith key": "lsv2_pt_" "[a-f0-9]{32}_[a-f0-9]{10}", "lsv2_sk_" "[a-f0-9]{32}_[a-f0-9]{10}",
        "ls__" "[a-f0-9]{32}";
    "hugging face token": "hf_" "[A-Za-z]{34}", "hf_" "[A-Za-z0-9]{34,37}",
        "api_org_" "[A-Za-z]{34}";
    "groq key": "gsk_" "[A-Za-z0-9]{52}";
    "xai key": "xai-" "[A-Za-z0-9]{80}";
    "perplexity key": "pplx-" "[A-Za-z0-9]{40,56}";
    "replicate token": "r8_" "[A-Za-z0-9]{37,40}";
    "nvidia key": "nvapi-" "[A-Za-z0-9_-]{60,70}";
    "fireworks key": "fw_" "[A-Za-z0-9]{22,24}";
    "voyage key": "pa-" "[A-Za-z0-9_-]{43}";
    "jina key": "jina_" "[A-Za-z0-9_-]{40,64}";
    "pinecone key": "pcsk_" "[A-Za-z0-9]{5,6}_[A-Za-z0-9]{60,66}";
    "tavily key": "tvly-" "(?:dev-|prod-)?[A-Za-z0-9-]{32,48}";
    "firecrawl key": "fc-" "[a-f0-9]{32}";
    "e2b key": "e2b_" "[a-f0-9]{40}";
    "elevenlabs key": "sk_" "[a-f0-9]{48}";
    "cerebras key": "csk-" "[a-z0-9]{48}";
    // Messages, mail and telephones.
    "slack token": "xoxb-" "[0-9]{8,14}-[A-Za-z0-9-]{16,80}",
        "xoxp-" "[0-9]{8,14}-[A-Za-z0-9-]{16,120}",
        "xoxa-" "[A-Za-z0-9-]{20,120}", "xoxr-" "[A-Za-z0-9-]{20,120}",
        "xoxs-" "[A-Za-z0-9-]{20,120}",
        "xoxo-" "[A-Za-z0-9-]{20,120}", "xoxc-" "[A-Za-z0-9-]{20,120}",
        "xoxd-" "[A-Za-z0-9%+/=-]{40,300}",
        "xoxe-" "[A-Za-z0-9-]{20,250}", "xoxe.xox" "[bp]-[0-9]-[A-Za-z0-9]{60,250}",
        "xapp-" "[0-9]-[A-Z0-9]{8,14}-[0-9]{8,14}-[a-f0-9]{32,80}";
    "slack webhook": "hooks.slack.com/" "(?:services|workflows|triggers)/[A-Za-z0-9+/]{25,100}";
    "discord webhook": "discord.com/api/webhooks/" "[0-9]{17,20}/[A-Za-z0-9_-]{60,80}",
        "discordapp.com/api/webhooks/" "[0-9]{17,20}/[A-Za-z0-9_-]{60,80}";
    "teams webhook": ".webhook.office.com/webhookb2/"
        "[a-z0-9@-]{70,80}/IncomingWebhook/[a-z0-9]{32}/[a-z0-9-]{36}(?:/[A-Za-z0-9_-]{20,60})?";
    "twilio key": "SK" "[a-f0-9]{32}";
    "sendgrid key": "SG." "[A-Za-z0-9_-]{22}\\.[A-Za-z0-9_-]{43}";
    "mailgun key": "key-" "[a-f0-9]{32}", "pubkey-" "[a-f0-9]{32}";
    "brevo key": "xkeysib-" "[a-f0-9]{64}-[A-Za-z0-9]{16}",
        "xsmtpsib-" "[a-f0-9]{64}-[A-Za-z0-9]{16}";
    "resend key": "re_" "[A-Za-z0-9]{6,10}_[A-Za-z0-9]{20,30}";
    // Money and shops.
    "stripe key": "sk_live_" "[A-Za-z0-9]{16,250}", "sk_test_" "[A-Za-z0-9]{16,250}",
        "rk_live_" "[A-Za-z0-9]{16,250}", "rk_test_" "[A-Za-z0-9]{16,250}",
        "sk_org_" "[A-Za-z0-9]{16,250}";
    "webhook secret": "whsec_" "[A-Za-z0-9+/=]{24,88}";
    "square token": "sq0atp-" "[A-Za-z0-9_-]{22}", "sq0csp-" "[A-Za-z0-9_-]{43}",
        "EAAA" "[A-Za-z0-9_-]{60}";
    "paypal token": "access_token$production$" "[a-z0-9]{16}\\$[a-f0-9]{32}",
        "access_token$sandbox$" "[a-z0-9]{16}\\$[a-f0-9]{32}";
    "razorpay key": "rzp_live_" "[A-Za-z0-9]{14,20}", "rzp_test_" "[A-Za-z0-9]{14,20}";
    "shopify token": "shpat_" "[a-fA-F0-9]{32}", "shpca_" "[a-fA-F0-9]{32}",
        "shppa_" "[a-fA-F0-9]{32}", "shpss_" "[a-fA-F0-9]{32}", "shpua_" "[a-fA-F0-9]{32}",
        "shptka_" "[a-fA-F0-9]{32}";
    "plaid token": "access-sandbox-" "[a-f0-9]{8}-[a-f0-9-]{27}",
        "access-development-" "[a-f0-9]{8}-[a-f0-9-]{27}",
        "access-production-" "[a-f0-9]{8}-[a-f0-9-]{27}";
    "flutterwave key": "FLWSECK-" "[a-z0-9]{32}-X", "FLWSECK_TEST-" "[A-Za-z0-9]{12,32}(?:-X)?";
    "paystack key": "sk_paystack_" "[a-f0-9]{40}";
    "easypost key": "EZAK" "[A-Za-z0-9]{54}", "EZTK" "[A-Za-z0-9]{54}";
    "shippo token": "shippo_live_" "[a-fA-F0-9]{40}", "shippo_test_" "[a-fA-F0-9]{40}";
    "duffel token": "duffel_live_" "[A-Za-z0-9_=-]{43}", "duffel_test_" "[A-Za-z0-9_=-]{43}";
    "extended private key": "xprv" "[1-9A-HJ-NP-Za-km-z]{107}",
        "tprv" "[1-9A-HJ-NP-Za-km-z]{107}", "yprv" "[1-9A-HJ-NP-Za-km-z]{107}",
        "zprv" "[1-9A-HJ-NP-Za-km-z]{107}";
    "adyen key": "AQE"
        "[A-Za-z0-9+/]{60,220}={0,2}-[A-Za-z0-9+/]{40,80}={0,2}-[A-Za-z0-9<>&%$#*(){}^~!?.,;:@|+/\
         =_-]{8,20}";
    // Work and data.
    "notion token": "ntn_" "[A-Za-z0-9]{43,50}", "secret_" "[A-Za-z0-9]{43}";
    "linear key": "lin_api_" "[A-Za-z0-9]{40}", "lin_oauth_" "[a-f0-9]{64}";
    "figma token": "figd_" "[A-Za-z0-9_-]{40,60}", "figdr_" "[A-Za-z0-9_-]{40,60}";
    "airtable token": "pat" "[A-Za-z0-9]{14}\\.[a-f0-9]{64}";
    "hubspot token": "pat-na1-" "[a-f0-9]{8}-[a-f0-9-]{27}", "pat-na2-" "[a-f0-9]{8}-[a-f0-9-]{27}",
        "pat-eu1-" "[a-f0-9]{8}-[a-f0-9-]{27}";
    "typeform token": "tfp_" "[A-Za-z0-9_.=-]{40,64}";
    "dropbox token": "sl." "[A-Za-z0-9_=-]{120,200}", "sl.u." "[A-Za-z0-9_=-]{120,1500}";
    "mapbox token": "sk.eyJ" "[A-Za-z0-9_-]{40,120}\\.[A-Za-z0-9_-]{20,30}";
    "contentful token": "CFPAT-" "[A-Za-z0-9_-]{43}";
    "readme key": "rdme_" "[a-z0-9]{70}";
    "frame.io token": "fio-u-" "[A-Za-z0-9_=-]{64}";
    "facebook token": "EAAC" "[A-Za-z0-9]{80,250}", "EAAG" "[A-Za-z0-9]{80,250}",
        "EAAB" "[A-Za-z0-9]{80,250}", "EAAM" "[A-Za-z0-9]{80,250}";
    "instagram token": "IGQ" "[A-Za-z0-9_-]{100,250}";
    "twitter token": "AAAAAAAAAAAAAAAAAAAAA" "[A-Za-z0-9%]{60,140}";
    "firebase key": "AAAA" "[A-Za-z0-9_-]{7}:[A-Za-z0-9_-]{140}";
    "adobe secret": "p8e-" "[A-Za-z0-9]{32}";
    "launchdarkly key": "sdk-" "[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9-]{22}",
        "api-" "[a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9-]{21}";
    // Watching.
    "new relic key": "NRAK-" "[A-Z0-9]{27}", "NRII-" "[A-Za-z0-9_-]{32}", "NRJS-" "[a-f0-9]{19}",
        "NRAL-" "[A-Za-z0-9]{27,40}";
    "grafana token": "glsa_" "[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}", "glc_" "[A-Za-z0-9+/]{32,400}={0,3}",
        "eyJrIjoi" "[A-Za-z0-9]{70,400}={0,3}";
    "sentry token": "sntrys_" "[A-Za-z0-9+/]{80,300}={0,2}_[A-Za-z0-9+/]{43}",
        "sntryu_" "[a-f0-9]{64}",
        "sntrya_" "[a-f0-9]{64}";
    "posthog key": "phx_" "[A-Za-z0-9_]{40,50}";
    "dynatrace token": "dt0c01." "[A-Z0-9]{24}\\.[A-Z0-9]{64}",
        "dt0s16." "[A-Z0-9-]{8,24}\\.[A-Z0-9]{64}";
    "honeycomb key": "hcaik_" "[a-z0-9]{58}", "hcxik_" "[a-z0-9]{58}", "hcamk_" "[a-z0-9]{58}";
    "adafruit key": "aio_" "[A-Za-z0-9]{28}";
};
