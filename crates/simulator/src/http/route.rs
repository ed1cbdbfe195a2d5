//! What a request asks for, by method and path.

use hyper::Method;

use crate::journal::CallKind;

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Gemini(GeminiCall),
    OpenAi(OpenAiFlavour, OpenAiCall),
    /// `GET /v1/models`, which both have; the credentials decide.
    EitherModels,
    Admin,
    Nowhere,
}

/// What can be asked of Gemini.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GeminiCall {
    Generate {
        model: String,
        form: Form,
    },
    Embed {
        model: String,
    },
    BatchEmbed {
        model: String,
    },
    CountTokens {
        model: String,
    },
    ListModels,
    GetModel {
        model: String,
    },
    /// A path that this simulator has not, or a method that a path has not.
    Unknown,
}

/// How a generation is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Whole,
    /// `alt=sse`.
    Events,
    /// A stream without `alt=sse`: one array, element by element.
    Array,
}

/// Whose dialect of OpenAI's API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenAiFlavour {
    /// OpenAI and most others.
    Plain,
    /// Gemini's, under `/v1beta/openai/`.
    Gemini,
}

/// What can be asked in OpenAI's manner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OpenAiCall {
    Chat,
    Embeddings,
    ListModels,
    GetModel { model: String },
    Unknown,
}

impl Route {
    pub(crate) fn of(method: &Method, path: &str, query: &str) -> Self {
        if path.starts_with("/admin/") {
            return Self::Admin;
        }
        let gemini_openai =
            path.strip_prefix("/v1beta/openai/").or_else(|| path.strip_prefix("/v1/openai/"));
        if let Some(rest) = gemini_openai {
            return Self::OpenAi(OpenAiFlavour::Gemini, OpenAiCall::of(method, rest));
        }
        let Some((version, rest)) = path.strip_prefix('/').and_then(|path| path.split_once('/'))
        else {
            return Self::Nowhere;
        };
        match (version, rest.trim_end_matches('/')) {
            ("v1", "models") if method == Method::GET => Self::EitherModels,
            ("v1", "chat/completions" | "embeddings") => {
                Self::OpenAi(OpenAiFlavour::Plain, OpenAiCall::of(method, rest))
            }
            ("v1" | "v1beta" | "v1alpha", rest) => {
                Self::Gemini(GeminiCall::of(method, rest, query))
            }
            _ => Self::Nowhere,
        }
    }

    pub(crate) fn kind(&self) -> CallKind {
        match self {
            Self::Gemini(GeminiCall::Generate { .. }) | Self::OpenAi(_, OpenAiCall::Chat) => {
                CallKind::Generate
            }
            Self::Gemini(GeminiCall::Embed { .. } | GeminiCall::BatchEmbed { .. })
            | Self::OpenAi(_, OpenAiCall::Embeddings) => CallKind::Embed,
            Self::Gemini(GeminiCall::CountTokens { .. }) => CallKind::CountTokens,
            Self::EitherModels
            | Self::Gemini(GeminiCall::ListModels | GeminiCall::GetModel { .. })
            | Self::OpenAi(_, OpenAiCall::ListModels | OpenAiCall::GetModel { .. }) => {
                CallKind::Models
            }
            Self::Gemini(GeminiCall::Unknown)
            | Self::OpenAi(_, OpenAiCall::Unknown)
            | Self::Admin
            | Self::Nowhere => CallKind::Other,
        }
    }
}

impl GeminiCall {
    fn of(method: &Method, rest: &str, query: &str) -> Self {
        if rest == "models" && method == Method::GET {
            return Self::ListModels;
        }
        let tuned = rest.starts_with("tunedModels/");
        let Some(named) = rest.strip_prefix("models/").or_else(|| tuned.then_some(rest)) else {
            return Self::Unknown;
        };
        match named.rsplit_once(':') {
            None if method == Method::GET => Self::GetModel { model: named.to_owned() },
            Some((model, operation)) if method == Method::POST => {
                Self::operation(model.to_owned(), operation, query)
            }
            _ => Self::Unknown,
        }
    }

    fn operation(model: String, operation: &str, query: &str) -> Self {
        let events = query.split('&').any(|pair| pair == "alt=sse");
        match operation {
            "generateContent" => Self::Generate { model, form: Form::Whole },
            "streamGenerateContent" if events => Self::Generate { model, form: Form::Events },
            "streamGenerateContent" => Self::Generate { model, form: Form::Array },
            "embedContent" => Self::Embed { model },
            "batchEmbedContents" => Self::BatchEmbed { model },
            "countTokens" => Self::CountTokens { model },
            _ => Self::Unknown,
        }
    }
}

impl OpenAiCall {
    fn of(method: &Method, rest: &str) -> Self {
        match rest.trim_end_matches('/') {
            "chat/completions" if method == Method::POST => Self::Chat,
            "embeddings" if method == Method::POST => Self::Embeddings,
            "models" if method == Method::GET => Self::ListModels,
            rest => match rest.strip_prefix("models/") {
                Some(model) if method == Method::GET => Self::GetModel { model: model.to_owned() },
                _ => Self::Unknown,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(method: &Method, path: &str, query: &str, expected: &Route) {
        assert_eq!(&Route::of(method, path, query), expected, "{method} {path}?{query}");
    }

    #[test]
    fn paths_lead_where_they_should() {
        let model = "gemini-3.5-flash-lite".to_owned();
        for version in ["v1", "v1beta"] {
            let path = format!("/{version}/models/{model}");
            let generate =
                |form| Route::Gemini(GeminiCall::Generate { model: model.clone(), form });
            let stream = format!("{path}:streamGenerateContent");
            check(&Method::POST, &stream, "alt=sse", &generate(Form::Events));
            check(&Method::POST, &stream, "key=k&alt=sse", &generate(Form::Events));
            check(&Method::POST, &stream, "", &generate(Form::Array));
            check(&Method::POST, &format!("{path}:generateContent"), "", &generate(Form::Whole));
            let get = Route::Gemini(GeminiCall::GetModel { model: model.clone() });
            check(&Method::GET, &path, "", &get);
            check(&Method::GET, &stream, "", &Route::Gemini(GeminiCall::Unknown));
        }
        let chat = |flavour| Route::OpenAi(flavour, OpenAiCall::Chat);
        check(&Method::POST, "/v1/chat/completions", "", &chat(OpenAiFlavour::Plain));
        check(&Method::POST, "/v1beta/openai/chat/completions", "", &chat(OpenAiFlavour::Gemini));
        check(&Method::GET, "/v1/models", "", &Route::EitherModels);
        check(&Method::GET, "/v1beta/models", "", &Route::Gemini(GeminiCall::ListModels));
        check(&Method::POST, "/v1beta/cachedContents", "", &Route::Gemini(GeminiCall::Unknown));
        check(&Method::GET, "/", "", &Route::Nowhere);
    }
}
